// The site: pages are staged by scripts/site, and nothing is loaded from another host.
import { defineConfig } from 'vitepress'
import { decisions, errorPages, groupsOfPages, type Page } from '../pages.ts'

const item = ({ file, title, path }: Page) => ({
  text: file === 'README.md' ? 'Overview' : title.replaceAll('`', ''),
  link: `/${path.replace(/(index)?\.md$/, '')}`,
})

export default defineConfig({
  title: 'idv-webhooks',
  description: 'The receiving side of an identity verification service',
  srcDir: 'pages',
  outDir: 'dist',
  cacheDir: '../../node_modules/.cache/vitepress',
  cleanUrls: true,
  lastUpdated: false,
  markdown: {
    languageAlias: { cjs: 'js' },
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
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: [
      ...groupsOfPages().map(({ title, pages }) => ({ text: title, items: pages.map(item) })),
      { text: 'Codes', collapsed: true, items: errorPages().map(item) },
      {
        text: 'Reference',
        items: [
          { text: 'API by door', link: '/reference/api/' },
          { text: 'Commands and options', link: '/reference/cli' },
          { text: 'Examples', link: '/examples/' },
        ],
      },
      { text: 'Decisions', collapsed: true, items: decisions().map(item) },
    ],
  },
})
