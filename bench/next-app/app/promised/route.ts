import { handlerOf } from '../handler'

export const POST = await handlerOf('hand-written, same promises')
