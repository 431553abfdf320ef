import {
  createColumnHelper,
  FlexRender,
  tableFeatures,
  useTable,
  type ColumnDef,
  type Row as TableRow,
} from '@tanstack/react-table';
import { memo, useState, type ReactNode } from 'react';

const features = tableFeatures({});
type Columns<Row extends object> = ColumnDef<typeof features, Row>[];

/** A column of a table; `cell` renders a row's value. */
export interface Column<Row> {
  readonly id: string;
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
}

/** Makes the columns of `<Table>`, once for each table, outside of components. */
export function columnsOf<Row extends object>(columns: readonly Column<Row>[]): Columns<Row> {
  const helper = createColumnHelper<typeof features, Row>();
  return columns.map(({ id, title, cell }) =>
    helper.display({ id, header: title, cell: ({ row }) => cell(row.original) }),
  );
}

/**
 * A table; on a narrow screen each row is a card. The roles stay although CSS changes `display`. With `details`, a button shows a
 * second row.
 */
export function Table<Row extends object>({
  label,
  columns,
  rows,
  keyOf,
  details,
  isOld = false,
}: {
  label: string;
  columns: Columns<Row>;
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  details?: (row: Row) => ReactNode;
  isOld?: boolean;
}): ReactNode {
  const table = useTable({ features, columns, data: rows, getRowId: keyOf });
  return (
    <table role="table" aria-label={label} className="table" aria-busy={isOld}>
      <thead role="rowgroup">
        {table.getHeaderGroups().map((group) => (
          <tr key={group.id} role="row">
            {group.headers.map((header) => (
              <th key={header.id} role="columnheader" scope="col" data-column={header.column.id}>
                <table.FlexRender header={header} />
              </th>
            ))}
            {details && (
              <th role="columnheader" scope="col" data-column="actions">
                <span className="visually-hidden">Details</span>
              </th>
            )}
          </tr>
        ))}
      </thead>
      {table.getRowModel().rows.map((row) => (
        <RowGroup key={row.id} row={row} columns={columns} details={details} />
      ))}
    </table>
  );
}

interface RowProps<Row extends object> {
  readonly row: TableRow<typeof features, Row>;
  readonly columns: Columns<Row>;
  readonly details: ((row: Row) => ReactNode) | undefined;
}

/** A row, with its details. Rendered again only if its data change: a user may have 2,000 devices. */
const RowGroup = memo(RenderedRow, (before, after) => {
  const { row, columns, details } = after;
  return before.row.original === row.original && before.columns === columns && before.details === details;
}) as typeof RenderedRow;

function RenderedRow<Row extends object>({ row, columns, details }: RowProps<Row>): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <tbody role="rowgroup">
      <tr role="row">
        {row.getAllCells().map((cell) => (
          <td
            key={cell.id}
            role="cell"
            data-column={cell.column.id}
            data-title={String(cell.column.columnDef.header)}
          >
            <FlexRender cell={cell} />
          </td>
        ))}
        {details && (
          <td role="cell" data-column="actions">
            <button type="button" className="link" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              Details
            </button>
          </td>
        )}
      </tr>
      {details && isOpen && (
        <tr role="row" className="details">
          <td role="cell" colSpan={columns.length + 1}>
            {details(row.original)}
          </td>
        </tr>
      )}
    </tbody>
  );
}
