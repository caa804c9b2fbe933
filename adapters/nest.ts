// NestJS over Express and Fastify: a dynamic module that mounts a receiver before the parsers of the
// application, which go on parsing for all other routes.
import type { DynamicModule, FactoryProvider } from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import { nestReceiver } from '../src/host/brands.ts'
import { WebhookError } from '../src/index.ts'
import { toExpress } from './express.ts'
import { toFastify } from './fastify.ts'
import { checkReceiver, type HandlesRequests } from './mount.ts'

/** Options of `WebhookModule.forRoot`. */
export interface WebhookModuleOptions {
  readonly receiver: HandlesRequests
  /** The path of deliveries, e.g. '/webhooks', as senders see it: no global prefix is added. */
  readonly path: string
}

/** Options of `WebhookModule.forRootAsync`: Nest makes the receiver from its own providers. */
export interface WebhookModuleAsyncOptions
  extends Pick<DynamicModule, 'imports'>,
    Pick<FactoryProvider<HandlesRequests>, 'inject' | 'useFactory'>,
    Pick<WebhookModuleOptions, 'path'> {}

/** Provides the receiver in the modules that import it: `@Inject(webhookReceiver)`. */
export const webhookReceiver: symbol = nestReceiver

/**
 * Mounts a receiver in a Nest application.
 *
 * @example @Module({ imports: [WebhookModule.forRoot({ receiver, path: '/webhooks' })] })
 */
// biome-ignore lint/complexity/noStaticOnlyClass: Nest names a dynamic module by its class.
export class WebhookModule {
  /** @throws WebhookError `OPTION_INVALID` */
  static forRoot({ receiver, path }: WebhookModuleOptions): DynamicModule {
    const call = 'WebhookModule.forRoot({ receiver, path })'
    checkReceiver({ 'WebhookModule.forRoot': WebhookModule.forRoot }, receiver, call)
    return WebhookModule.forRootAsync({ path, useFactory: () => receiver })
  }

  /** @throws WebhookError `OPTION_INVALID` */
  static forRootAsync(options: WebhookModuleAsyncOptions): DynamicModule {
    const { path, imports = [], inject = [], useFactory } = options
    if (typeof path !== 'string' || !path.startsWith('/')) {
      throw refusal("`path` must be a path that begins with '/', e.g. '/webhooks'")
    }
    if (typeof useFactory !== 'function') throw refusal('`useFactory` must return a receiver')
    const receiver = { provide: webhookReceiver, inject, useFactory }
    // A provider, since the application registers its parsers after it has made all providers.
    const mount = {
      provide: Symbol('idv-webhooks.mount'),
      inject: [webhookReceiver, HttpAdapterHost],
      useFactory: mountAt(path),
    }
    // A class for each call, because older versions of Nest merge equal modules. Nest logs its
    // name.
    const module = class extends WebhookModule {}
    Object.defineProperty(module, 'name', { value: 'WebhookModule' })
    return {
      module,
      imports,
      providers: [receiver, mount],
      exports: [webhookReceiver],
    }
  }
}

const mountAt = (path: string) => (receiver: HandlesRequests, host: HttpAdapterHost) => {
  const call = 'useFactory: () => createReceiver({ … })'
  checkReceiver({ 'WebhookModule.forRootAsync': WebhookModule.forRootAsync }, receiver, call)
  // At once, or in a testing module when it has an application.
  host.init$.subscribe(() => {
    const { httpAdapter } = host
    // A standalone application or a microservice serves no HTTP: its receiver is used without a
    // mount.
    if (!httpAdapter) return
    const app = httpAdapter.getInstance()
    if (httpAdapter.getType() === 'fastify') app.register(toFastify(receiver), { path })
    else app.all(path, toExpress(receiver))
  })
  return true
}

function refusal(message: string): WebhookError {
  return new WebhookError('OPTION_INVALID', `WebhookModule: ${message}`)
}
