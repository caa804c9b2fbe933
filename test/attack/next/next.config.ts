import type { NextConfig } from 'next'

const config: NextConfig = {
  // As users run it: outside Next's own bundle.
  serverExternalPackages: ['idv-webhooks'],
  // Types are checked with the rest of the tests.
  typescript: { ignoreBuildErrors: true },
  turbopack: { root: `${import.meta.dirname}/../../..` },
}

export default config
