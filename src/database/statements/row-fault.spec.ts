import { DatabaseBusy } from '../database-busy.js';
import { isRowFault } from './row-fault.js';
import { CommitUnconfirmed, StatementGivenUp } from './statement-errors.js';

describe('whether a statement may have failed for one of its rows', () => {
  it.each(['21000', '22003', '22P02', '23503', '23505'])('%s may be', (code) => {
    expect(isRowFault(Object.assign(new Error('x'), { code }))).toBe(true);
  });

  it.each([
    Object.assign(new Error('x'), { code: '08006' }),
    Object.assign(new Error('x'), { code: '2200' }),
    Object.assign(new Error('x'), { code: 22003 }),
    Object.assign(new Error('x'), { code: '40P01' }),
    new CommitUnconfirmed(),
    new DatabaseBusy('x'),
    new StatementGivenUp(),
    'text',
    null,
  ])('%p is not', (error) => {
    expect(isRowFault(error)).toBe(false);
  });
});
