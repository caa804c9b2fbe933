import type { NextConfig } from 'next'

const config: NextConfig = {
  // Measured as users run it: outside Next's own bundle.
  serverExternalPackages: ['idv-webhooks'],
  // Types are checked with the rest of bench/.
  typescript: { ignoreBuildErrors: true },
  turbopack: { root: `${import.meta.dirname}/../..` },
}

export default config
