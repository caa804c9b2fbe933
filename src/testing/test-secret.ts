// The one secret that is no secret: captures are signed with it, and tests configure it.

/** Signs captures and, by default, test deliveries. It fits schemes of every key decoding. */
export const testSecret = 'c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00'
