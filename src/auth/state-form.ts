/** A state of ours (contract §4): 256 bits as hex. */
export const STATE = /^[0-9a-f]{64}$/i;
