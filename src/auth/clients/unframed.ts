/** For pages that nobody frames: a click on them could be stolen (RFC 9700 §4.16). They have no forms. */
export const UNFRAMED = ["form-action 'none'", "frame-ancestors 'none'"] as const;
