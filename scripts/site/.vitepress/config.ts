// The site: pages are staged by scripts/site, and nothing is loaded from another host.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitepress'
import { decisions, errorPages, groupsOfPages, type Page, root } from '../pages.ts'

const { version, license, repository } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
) as { version: string; license: string; repository: { url: string } }
const source = repository.url.replace(/^git\+|\.git$/g, '')

const item = ({ file, title, path }: Page) => ({
  text: file === 'README.md' ? 'Overview' : title.replaceAll('`', ''),
  link: `/${path.replace(/(index)?\.md$/, '')}`,
})

export default defineConfig({
  title: 'idv-webhooks',
  description: 'Receive identity-verification webhooks in Node.js',
  srcDir: 'pages',
  outDir: 'dist',
  cacheDir: '../../node_modules/.cache/vitepress',
  cleanUrls: true,
  lastUpdated: false,
  markdown: {
    languageAlias: { cjs: 'js' },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    // As GitHub and npm do, so that one link holds everywhere.
    anchor: {
      slugify: (text) =>
        text
          .trim()
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
          .replaceAll(' ', '-'),
    },
  },
  themeConfig: {
    nav: [
      { text: 'Quick start', link: '/quick-start' },
      { text: 'Inbox', link: '/inbox' },
      { text: 'Testing', link: '/testing' },
      { text: 'Sandbox', link: '/sandbox' },
      { text: 'Reference', link: '/reference/' },
      { text: `v${version}`, link: '/changelog' },
    ],
    socialLinks: [
      { icon: 'github', link: source },
      { icon: 'npm', link: 'https://www.npmjs.com/package/idv-webhooks' },
    ],
    footer: { message: `${license} licence`, copyright: `idv-webhooks ${version}` },
    notFound: {
      title: 'Page not found',
      quote: 'Search for it at the top of the page, or begin at the first page.',
      linkText: 'Go to the first page',
    },
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          searchOptions: {
            // Guides before the pages that tell how and why something was made.
            boostDocument: (id: string) =>
              /\/(decisions|changelog|architecture|contributing|reference|examples)/.test(id)
                ? 0.1
                : 1,
          },
        },
      },
    },
    outline: [2, 3],
    sidebar: [
      ...groupsOfPages().map(({ title, pages }) => ({ text: title, items: pages.map(item) })),
      { text: 'Codes', collapsed: true, items: errorPages().map(item) },
      {
        text: 'Reference',
        items: [
          { text: 'API by import path', link: '/reference/' },
          { text: 'Commands and options', link: '/reference/cli' },
          { text: 'Examples', link: '/examples/' },
        ],
      },
      { text: 'Decisions', collapsed: true, items: decisions().map(item) },
    ],
  },
})
