// Questions that the service's document leaves open, and the sandbox's assumptions.
/** @jsxImportSource preact */
import { call } from '../call.ts'
import { useLoad } from '../load.ts'
import { Failed } from '../ui/empty.tsx'
import { Page } from '../ui/shell.tsx'
import { control } from './resources.ts'

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
        Where the service’s documentation leaves something open, the sandbox does this.
      </p>
      {data && (
        <>
          <div class="columns">
            <Pairs
              title="Subject names that trigger a result"
              pairs={data.magicNames.map(({ name, effect }) => [name, effect])}
            />
            <Pairs
              title="API keys that trigger a result"
              pairs={data.magicKeys.map(({ key, effect }) => [key, effect])}
            />
          </div>
          <div class="card table">
            <table>
              <thead>
                <tr>
                  <th scope="col">Section</th>
                  <th scope="col">Topic</th>
                  <th scope="col">Here</th>
                </tr>
              </thead>
              <tbody>
                {data.data.map(({ section, topic, decision }) => (
                  <tr key={`${section} ${topic}`}>
                    <td>{section}</td>
                    <td>{topic}</td>
                    <td class="break">{decision}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </Page>
  )
}

interface PairsProps {
  readonly title: string
  readonly pairs: readonly (readonly [string, string])[]
}

function Pairs({ title, pairs }: PairsProps) {
  return (
    <section class="card">
      <h2>{title}</h2>
      <dl class="facts">
        {pairs.map(([name, effect]) => (
          <>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>{effect}</dd>
          </>
        ))}
      </dl>
    </section>
  )
}
