// Questions that the service's document leaves open, and the sandbox's assumptions.
/** @jsxImportSource preact */
import { call } from '../call.ts'
import { useLoad } from '../load.ts'
import { Facts, Failed, Table } from '../ui/detail.tsx'
import { Page } from '../ui/shell.tsx'
import { api, control } from './resources.ts'

interface Assumptions {
  readonly data: readonly {
    readonly section: string
    readonly topic: string
    readonly decision: string
  }[]
  readonly magicNames: readonly { readonly name: string; readonly effect: string }[]
  readonly magicKeys: readonly { readonly key: string; readonly effect: string }[]
}

export function AssumptionsPage() {
  const { data, problem } = useLoad({
    key: 'assumptions',
    ask: (signal) => call<Assumptions>(`${control}/assumptions`, { signal }),
  })
  return (
    <Page title="Assumptions">
      {problem && <Failed problem={problem} />}
      <p class="muted">
        Where the service’s documentation leaves something open, the sandbox does this. OpenAPI:{' '}
        <a href={`${api}/openapi.json`}>the service</a>,{' '}
        <a href={`${control}/openapi.json`}>the control plane</a>.
      </p>
      {data && (
        <>
          <div class="columns">
            <Pairs
              title="Subject names that trigger a result"
              pairs={Object.fromEntries(data.magicNames.map(({ name, effect }) => [name, effect]))}
            />
            <Pairs
              title="API keys that trigger a result"
              pairs={Object.fromEntries(data.magicKeys.map(({ key, effect }) => [key, effect]))}
            />
          </div>
          <Table heads={['Section', 'Topic', 'Here']}>
            {data.data.map(({ section, topic, decision }) => (
              <tr key={`${section} ${topic}`}>
                <td>{section}</td>
                <td>{topic}</td>
                <td class="break">{decision}</td>
              </tr>
            ))}
          </Table>
        </>
      )}
    </Page>
  )
}

interface PairsProps {
  readonly title: string
  readonly pairs: Readonly<Record<string, string>>
}

function Pairs({ title, pairs }: PairsProps) {
  return (
    <section class="card">
      <h2>{title}</h2>
      <Facts of={pairs} />
    </section>
  )
}
