// Settings by which a store tells that its inbox was moved, is being moved, or is the target of a
// move. The steps of a move are in move.ts.

/** The setting by which a store tells that it is being moved, or was; empty when it was not. */
export const moveSetting = 'move'
/** The setting that names the move by which a store was filled. */
export const originSetting = 'origin'
/** Settings that belong to one store and are not copied. */
export const ownSettings: readonly string[] = [moveSetting, originSetting]

/** Messages of `STORE_UNSUITABLE` for a store that was moved, is being moved, or is the target. */
export const moveRefusals = {
  moved: 'this inbox was moved to another store: use that one',
  moving: 'this inbox is being moved: run `idv-webhooks inbox move` again until it is complete',
  filling:
    'an inbox is being moved into this one: run `idv-webhooks inbox move` again from its source until it is complete',
} as const

/** The value of the setting `move`. */
export interface MoveState {
  readonly state: keyof typeof moveRefusals | 'none'
  readonly id: string
}

/** Reads the setting `move`; an earlier version on Node 22 left null in its files. */
export function moveStateOf(setting: Uint8Array | null | undefined): MoveState {
  const [state = '', id = '', role] = new TextDecoder().decode(setting ?? undefined).split(' ')
  if (state === 'moving') return { state: role === 'target' ? 'filling' : state, id }
  return { state: state === 'moved' ? state : 'none', id }
}

/** Writes the setting `move`. A target is `moving` as well: Postgres functions ask for that word. */
export function moveSettingOf(state: keyof typeof moveRefusals, id: string): Uint8Array {
  return new TextEncoder().encode(state === 'filling' ? `moving ${id} target` : `${state} ${id}`)
}
