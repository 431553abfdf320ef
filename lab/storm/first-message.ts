/**
 * Reads what a browser sends on a WebSocket until the first message that is a handshake of Socket.IO (`40{…}`): its token. Frames
 * of clients are masked (RFC 6455 §5.3); the ones before it are short.
 * @returns a function that takes the bytes as they come, and returns the token once
 */
export function handshakeReader(): (chunk: Buffer) => string | undefined {
  let left: Buffer | undefined = Buffer.alloc(0);
  return (chunk) => {
    if (!left) return undefined;
    left = Buffer.concat([left, chunk]);
    for (;;) {
      const frame = firstFrame(left);
      if (!frame) return undefined;
      left = left.subarray(frame.size);
      if (!frame.text.startsWith('40{')) continue;
      left = undefined;
      return (JSON.parse(frame.text.slice(2)) as { token?: string }).token;
    }
  };
}

function firstFrame(bytes: Buffer): { text: string; size: number } | undefined {
  if (bytes.length < 6) return undefined;
  const short = bytes[1]! & 0x7f;
  const extra = short === 126 ? 2 : short === 127 ? 8 : 0;
  if (bytes.length < 6 + extra) return undefined;
  const length = extra === 2 ? bytes.readUInt16BE(2) : extra === 8 ? Number(bytes.readBigUInt64BE(2)) : short;
  const begin = 6 + extra;
  if (bytes.length < begin + length) return undefined;
  const mask = bytes.subarray(begin - 4, begin);
  const text = Buffer.from(bytes.subarray(begin, begin + length).map((byte, n) => byte ^ mask[n % 4]!));
  return { text: text.toString(), size: begin + length };
}
