// The one public secret: captures are signed with it, and tests configure it.

/** Signs captures and, by default, test deliveries. It is a valid key for every scheme. */
export const testSecret = 'c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00'
