import type {
  ALBHandler,
  APIGatewayProxyHandler,
  APIGatewayProxyHandlerV2,
  LambdaFunctionURLHandler,
} from 'aws-lambda'
import { createReceiver } from 'idv-webhooks'
import { toLambda } from 'idv-webhooks/lambda'
import { expectTypeOf, test } from 'vitest'

const handler = toLambda(createReceiver({ secret: 'types-secret' }))

test('the handler is one of each integration, by the types that AWS users have', () => {
  expectTypeOf(handler).toExtend<APIGatewayProxyHandler>()
  expectTypeOf(handler).toExtend<APIGatewayProxyHandlerV2>()
  expectTypeOf(handler).toExtend<ALBHandler>()
  expectTypeOf(handler).toExtend<LambdaFunctionURLHandler>()
})
