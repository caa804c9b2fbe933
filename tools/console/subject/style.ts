// The style of the subject's page: a phone first, two themes by the system's choice.

/** One style sheet, in the page itself. */
export const subjectStyle = `
:root{color-scheme:light dark;--bg:#f7f7f5;--surface:#fff;--text:#1d2024;--muted:#5b626c;--line:#8d939c;--accent:#2f54c4;--on:#fff;--bad:#ad2317}
@media (prefers-color-scheme:dark){:root{--bg:#131518;--surface:#1a1d21;--text:#e7e9ec;--muted:#a1a8b3;--line:#6c7580;--accent:#93b1ff;--on:#0f1a3a;--bad:#ff9d92}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:flex;flex-direction:column;background:var(--bg);color:var(--text);font:1rem/1.5 ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{width:100%;max-width:30rem;margin:0 auto;padding:2rem 1.25rem;flex:1}
.who{margin:0 0 1.5rem;font-weight:600;color:var(--muted)}
h1{margin:0;font-size:1.5rem;line-height:1.25;letter-spacing:-.01em}
.words{margin:.5rem 0 1.25rem;color:var(--muted)}
.progress{display:grid;gap:.35rem;margin:0 0 1.5rem;font-size:.875rem;color:var(--muted)}
progress{width:100%;height:6px;accent-color:var(--accent)}
form{display:grid;gap:1.1rem}
.field{display:grid;gap:.3rem}
label{font-weight:550}
.check{display:flex;gap:.75rem;align-items:flex-start;font-weight:400;padding:.75rem;border:1px solid var(--line);border-radius:10px;background:var(--surface)}
.check input{width:1.25rem;height:1.25rem;min-height:0;margin:.1rem 0 0;flex:none;accent-color:var(--accent)}
input,select{width:100%;min-height:48px;padding:.5rem .75rem;border:1px solid var(--line);border-radius:10px;background:var(--surface);color:var(--text);font:inherit}
[aria-invalid]{border-color:var(--bad);box-shadow:0 0 0 1px var(--bad)}
.wrong{margin:0;color:var(--bad);font-size:.9rem}
.wrong::before{content:"✕ "}
button{min-height:50px;border:0;border-radius:10px;background:var(--accent);color:var(--on);font:inherit;font-weight:600;cursor:pointer}
button.quiet{background:none;border:1px solid var(--line);color:var(--text)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
details{margin-top:2.5rem;color:var(--muted);font-size:.9rem}
details form{margin-top:.75rem}
ul{list-style:none;padding:0;display:grid;gap:.35rem}
footer{padding:1.25rem;text-align:center;color:var(--muted);font-size:.8rem}
`
