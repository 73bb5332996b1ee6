package catalog

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Querier is the part of *pgx.Conn and pgx.Tx that this package uses.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}
