import { WebhookVerificationService } from '@hookflo/tern'
import { secret } from '../deliveries.ts'
import type { SetUp } from './contender.ts'

export const setUp: SetUp = ({ body, signature }) => {
  const headers = {
    'content-type': 'application/json',
    'x-hub-signature-256': `sha256=${signature}`,
    'x-github-event': 'check_run',
    'x-github-delivery': '1',
  }
  const run = async () => {
    const request = new Request('http://localhost/', { method: 'POST', headers, body })
    const service = WebhookVerificationService
    return (await service.verifyWithPlatformConfig(request, 'github', secret)).isValid
  }
  return [{ group: 'verify + parse', name: '@hookflo/tern (with its Request)', run }]
}
