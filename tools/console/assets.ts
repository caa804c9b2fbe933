// The console's front end as text. Run from source it is bundled on demand; the build replaces this
// file with the finished bundle, so that the package needs neither a bundler nor a file beside it.

export interface Assets {
  readonly script: string
  readonly style: string
}

let bundling: Promise<Assets> | undefined

export function loadAssets(): Promise<Assets> {
  bundling ??= import('../../scripts/bundle-console.ts').then(({ bundleConsole }) =>
    bundleConsole(),
  )
  return bundling
}
