// The framework of an app, by its headers, its 404 page, and the message of its JSON parser.
import type { Answer } from '../deliver.ts'

export const frameworks = ['express', 'fastify', 'next', 'nest', 'koa', 'hono'] as const

export type Framework = (typeof frameworks)[number] | 'unknown'

const byText: readonly (readonly [Framework, RegExp])[] = [
  ['fastify', /FST_ERR_|"message":"Route [A-Z]+:/],
  ['nest', /"message":"Cannot (GET|POST) [^"]*","error":"Not Found"/],
  ['express', /<pre>(Cannot (GET|POST) |SyntaxError: )/],
  ['next', /__next|\/_next\/static/],
  ['hono', /^404 Not Found$/],
  ['koa', /^Not Found$/],
]

/** The framework behind responses; the first clear sign counts. */
export function frameworkOf(answers: readonly Pick<Answer, 'headers' | 'body'>[]): Framework {
  for (const { headers } of answers) {
    const powered = headers['x-powered-by'] ?? ''
    if (/^Next\.js/i.test(powered)) return 'next'
  }
  for (const { body } of answers) {
    const text = new TextDecoder().decode(body).trim()
    const found = byText.find(([, pattern]) => pattern.test(text))
    if (found) return found[0]
  }
  const express = answers.some(({ headers }) => /^Express/i.test(headers['x-powered-by'] ?? ''))
  return express ? 'express' : 'unknown'
}

/** Whether an app on this framework can see repeated headers; fetch runtimes join them. */
export function keepsHeadersApart(framework: Framework): boolean {
  return ['express', 'fastify', 'nest', 'koa'].includes(framework)
}

/** Whether a JSON parser of the framework refused the body before a receiver saw it. */
export function refusedByParser({ status, body }: Pick<Answer, 'status' | 'body'>): boolean {
  if (status !== 400) return false
  const text = new TextDecoder().decode(body)
  return /FST_ERR_CTP|SyntaxError|Invalid JSON|Unexpected (token|end)|not valid JSON/i.test(text)
}
