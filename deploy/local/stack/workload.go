package stack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
)

const (
	writers        = 4
	burstRows      = 400 // rows of one statement in a burst
	burstEvery     = 120 // transactions of a writer between two bursts
	txPerSecondMax = 100 // of one writer: the demo watches a running pipeline, it doesn't load a table
)

// workload changes rows as an application would: several sessions, mixed
// transactions, some of which are rolled back in part or as a whole.
type workload struct {
	dsn          string
	seed         uint64
	transactions int // of all writers together

	tried     atomic.Int64 // transactions that have ended
	committed atomic.Int64 // of these
	changes   atomic.Int64 // row changes in committed transactions
}

// errRolledBack ends a transaction that is rolled back on purpose.
var errRolledBack = errors.New("rolled back on purpose")

// run returns when all transactions are done.
func (w *workload) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for i := range writers {
		g.Go(func() error {
			conn, err := pgx.Connect(ctx, w.dsn)
			if err != nil {
				return fmt.Errorf("workload: connect: %w", err)
			}
			defer conn.Close(context.WithoutCancel(ctx))
			return w.write(ctx, conn, i)
		})
	}
	return g.Wait()
}

func (w *workload) write(ctx context.Context, conn *pgx.Conn, writer int) error {
	s := session{rng: rand.New(rand.NewPCG(w.seed, uint64(writer))), writer: writer}
	limit := rate.NewLimiter(txPerSecondMax, 10)
	for n := range w.transactions / writers {
		if err := limit.Wait(ctx); err != nil {
			return err
		}
		work := s.pick(n)
		tried := s.clone()
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			tried.tx, tried.changes = tx, 0
			return work(&tried, ctx)
		})
		w.tried.Add(1)
		switch {
		case errors.Is(err, errRolledBack):
			continue
		case err != nil:
			return fmt.Errorf("workload: writer %d, transaction %d: %w", writer, n, err)
		}
		s = tried
		w.committed.Add(1)
		w.changes.Add(tried.changes)
	}
	return nil
}

// session is one writer: its random source, and the keys that it has made.
// Writers change rows of their own and share only the counters.
type session struct {
	rng       *rand.Rand
	writer    int
	next      int64
	customers []int64
	orders    []orderKey

	tx      pgx.Tx
	changes int64 // row changes of the running transaction
}

type orderKey struct {
	shop   string
	number int64
}

func (s *session) clone() session {
	c := *s
	c.customers = append([]int64(nil), s.customers...)
	c.orders = append([]orderKey(nil), s.orders...)
	return c
}

// newID returns a key that no writer has used before.
func (s *session) newID() int64 {
	s.next++
	return s.next*writers + int64(s.writer)
}

func (s *session) exec(ctx context.Context, sql string, args ...any) error {
	tag, err := s.tx.Exec(ctx, sql, args...)
	s.changes += tag.RowsAffected()
	return err
}

type transaction func(s *session, ctx context.Context) error

// pick chooses the n-th transaction. Every writer starts with inserts, so that
// there is something to change.
func (s *session) pick(n int) transaction {
	switch {
	case n < 10:
		return (*session).insertCustomers
	case n == 20 && s.writer == 0:
		return (*session).insertRefused
	case n%burstEvery == burstEvery-1:
		return (*session).burst
	}
	mix := []transaction{
		(*session).insertCustomers, (*session).insertCustomers,
		(*session).updateCustomer, (*session).updateCustomer, (*session).updateCustomer, (*session).updateCustomer,
		(*session).deleteCustomer,
		(*session).changeCustomerKey,
		(*session).deleteAndInsertAgain,
		(*session).insertOrders, (*session).insertOrders,
		(*session).updateOrders, (*session).updateOrders, (*session).updateOrders,
		(*session).changeOrderKey,
		(*session).count, (*session).count, (*session).count,
		(*session).rollBack,
		(*session).rollBackToSavepoint,
	}
	return mix[s.rng.IntN(len(mix))]
}

const insertCustomer = `INSERT INTO customers
	(id, name, email, active, balance, score, born, wakes, joined, seen, avatar, settings, tags, token)
	VALUES ($1, $2, $3, $4, $5::bigint / 100.0, $6, $7, $8, $9, $10, $11, $12, $13, $14::text::uuid)`

func (s *session) insertOne(ctx context.Context, id int64) error {
	r := s.rng
	var email, score, born any // nulls too
	if r.IntN(3) > 0 {
		email = fmt.Sprintf("c%d@example.com", id)
		score = r.NormFloat64()
		born = time.Date(1930+r.IntN(90), time.Month(1+r.IntN(12)), 1+r.IntN(28), 0, 0, 0, 0, time.UTC)
	}
	names := []string{"Ada", "Łukasz", "Zoë \"Z\"", "back\\slash", "line\nbreak", "名前", "", "O'Brien, Pat"}
	avatar := make([]byte, r.IntN(40))
	for i := range avatar {
		avatar[i] = byte(r.Uint32())
	}
	if err := s.exec(ctx, insertCustomer, id, names[r.IntN(len(names))], email, r.IntN(2) == 0, r.Int64N(1e9)-5e8, score, born,
		fmt.Sprintf("%02d:%02d:%02d.%06d", r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1e6)),
		time.UnixMicro(1.5e15+r.Int64N(3e14)).UTC(), time.UnixMicro(1.5e15+r.Int64N(3e14)).UTC(), avatar,
		fmt.Sprintf(`{"theme": "dark", "n": %d, "list": [1, "two", null]}`, r.IntN(1000)),
		[]string{"a", "b, c", "NULL", `q"u\o`}[:r.IntN(5)],
		fmt.Sprintf("%08x-0000-4000-8000-%012x", r.Uint32(), r.Int64N(1<<47))); err != nil {
		return err
	}
	s.customers = append(s.customers, id)
	return nil
}

func (s *session) insertCustomers(ctx context.Context) error {
	for range 1 + s.rng.IntN(3) {
		if err := s.insertOne(ctx, s.newID()); err != nil {
			return err
		}
	}
	return nil
}

// insertRefused inserts the row that BigQuery refuses: its JSON is nested
// deeper than 500 levels. Nothing changes that row later.
func (s *session) insertRefused(ctx context.Context) error {
	const depth = 600
	deep := make([]byte, 0, 2*depth+1)
	for range depth {
		deep = append(deep, '[')
	}
	deep = append(deep, '1')
	for range depth {
		deep = append(deep, ']')
	}
	return s.exec(ctx, `INSERT INTO customers (id, name, active, balance, joined, settings, tags)
		VALUES ($1, 'refused', true, 0, now(), $2, '{}')`, refusedID, string(deep))
}

// refusedID is the key of the row that BigQuery refuses.
const refusedID = -1

func (s *session) updateCustomer(ctx context.Context) error {
	if len(s.customers) == 0 {
		return s.insertCustomers(ctx)
	}
	id := s.customers[s.rng.IntN(len(s.customers))]
	return s.exec(ctx, `UPDATE customers SET balance = balance + 1.25, active = NOT active, seen = localtimestamp WHERE id = $1`, id)
}

func (s *session) deleteCustomer(ctx context.Context) error {
	if len(s.customers) < 5 {
		return s.insertCustomers(ctx)
	}
	return s.exec(ctx, `DELETE FROM customers WHERE id = $1`, s.take())
}

// take removes a random customer's key from the session's list and returns it.
func (s *session) take() int64 {
	i := s.rng.IntN(len(s.customers))
	id := s.customers[i]
	s.customers = append(s.customers[:i], s.customers[i+1:]...)
	return id
}

func (s *session) changeCustomerKey(ctx context.Context) error {
	if len(s.customers) == 0 {
		return s.insertCustomers(ctx)
	}
	from, to := s.take(), s.newID()
	s.customers = append(s.customers, to)
	return s.exec(ctx, `UPDATE customers SET id = $2, name = name || '*' WHERE id = $1`, from, to)
}

func (s *session) deleteAndInsertAgain(ctx context.Context) error {
	if len(s.customers) == 0 {
		return s.insertCustomers(ctx)
	}
	id := s.take()
	if err := s.exec(ctx, `DELETE FROM customers WHERE id = $1`, id); err != nil {
		return err
	}
	return s.insertOne(ctx, id)
}

const insertOrder = `INSERT INTO orders (shop, number, customer, state, total, lines, changed)
	SELECT $1::text, n, $2::bigint + n, 'new', n / 7.0, n % 9, clock_timestamp() FROM generate_series($3::int, $4::int) n`

func (s *session) insertOrders(ctx context.Context) error { return s.orderRows(ctx, 1+s.rng.Int64N(4)) }

func (s *session) orderRows(ctx context.Context, rows int64) error {
	shop := fmt.Sprintf("shop,%d\\", s.writer) // a comma and a backslash: the key needs escaping
	first := s.next + 1
	s.next += rows
	for n := first; n < first+rows; n++ {
		s.orders = append(s.orders, orderKey{shop, n})
	}
	return s.exec(ctx, insertOrder, shop, s.rng.Int64N(1e12), first, first+rows-1)
}

func (s *session) updateOrders(ctx context.Context) error {
	if len(s.orders) == 0 {
		return s.insertOrders(ctx)
	}
	o := s.orders[s.rng.IntN(len(s.orders))]
	return s.exec(ctx, `UPDATE orders SET state = 'paid', lines = lines + 1, changed = clock_timestamp()
		WHERE shop = $1 AND number BETWEEN $2 AND $2 + 3`, o.shop, o.number)
}

func (s *session) changeOrderKey(ctx context.Context) error {
	if len(s.orders) == 0 {
		return s.insertOrders(ctx)
	}
	i := s.rng.IntN(len(s.orders))
	o := s.orders[i]
	s.next++
	s.orders[i].number = s.next
	return s.exec(ctx, `UPDATE orders SET number = $3 WHERE shop = $1 AND number = $2`, o.shop, o.number, s.next)
}

// count updates one of the few rows that every writer updates: hot keys.
func (s *session) count(ctx context.Context) error {
	return s.exec(ctx, `INSERT INTO counters VALUES ($1, 1, NULL)
		ON CONFLICT (name) DO UPDATE SET value = counters.value + 1`, []string{"hot", "warm"}[s.rng.IntN(2)])
}

func (s *session) rollBack(ctx context.Context) error {
	if err := s.updateCustomer(ctx); err != nil {
		return err
	}
	if err := s.insertOrders(ctx); err != nil {
		return err
	}
	return errRolledBack
}

func (s *session) rollBackToSavepoint(ctx context.Context) error {
	if err := s.insertCustomers(ctx); err != nil {
		return err
	}
	kept := s.clone()
	err := pgx.BeginFunc(ctx, s.tx, func(inner pgx.Tx) error {
		s.tx = inner
		if err := s.insertOrders(ctx); err != nil {
			return err
		}
		if err := s.deleteCustomer(ctx); err != nil {
			return err
		}
		return errRolledBack
	})
	next := s.next // keys of rolled-back rows aren't used again
	*s = kept
	s.next = next
	if !errors.Is(err, errRolledBack) {
		return err
	}
	return s.updateCustomer(ctx)
}

// burst inserts many rows in one statement and updates them all in another, so
// that hundreds of changes are in flight at once.
func (s *session) burst(ctx context.Context) error {
	first := s.next + 1
	if err := s.orderRows(ctx, burstRows); err != nil {
		return err
	}
	shop := s.orders[len(s.orders)-1].shop
	return s.exec(ctx, `UPDATE orders SET state = 'packed', changed = clock_timestamp() WHERE shop = $1 AND number >= $2`, shop, first)
}
