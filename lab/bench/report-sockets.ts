import { align, medianOf } from './report.js';
import { SOCKETS_A_USER, type SocketTurn, type SocketTurns } from './sockets.js';

/** The table of W4, with ratios to the first target. Medians over the rounds; the memory is from the first round. */
export function socketsTable(sockets: number, measured: readonly SocketTurns[]): string {
  const yardstick = measured[0]!;
  const head = [
    `W4 ${sockets} sockets, ${SOCKETS_A_USER} a user`,
    'connects/s',
    `/ ${yardstick.target}`,
    'messages/s',
    `/ ${yardstick.target}`,
    'KiB a socket',
    'connect µs',
    'message µs',
  ];
  const rows = measured.map(({ target, turns }) => {
    const median = (figure: keyof SocketTurn): number => medianOf(turns.map((turn) => turn[figure]));
    const ratio = (figure: keyof SocketTurn): string => ratioOf(turns, yardstick.turns, figure).toFixed(2);
    return [
      target,
      median('connectsPerSecond').toFixed(0),
      ratio('connectsPerSecond'),
      median('messagesPerSecond').toFixed(0),
      ratio('messagesPerSecond'),
      turns[0]!.memory.toFixed(1),
      median('connectCpu').toFixed(0),
      median('messageCpu').toFixed(1),
    ];
  });
  return align([head, ...rows]);
}

function ratioOf(
  turns: readonly SocketTurn[],
  yardstick: readonly SocketTurn[],
  figure: keyof SocketTurn,
): number {
  return medianOf(turns.map((turn, round) => turn[figure] / yardstick[round]![figure]));
}
