package projections_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/projections/projtest"
)

// deposits makes batches wait in a deposit queue: three of lea, two of tom, served in
// turn. The last of lea is parked and released; it and a batch of tom are not reported.
// Their ids are those from first on.
func (w *world) deposits(first int64) {
	w.now = time.Date(2026, 3, 20, 9, 0, 0, 0, time.UTC)
	slots := map[string]int64{"lea": 1, "tom": 2}
	var ids []domain.BatchID
	for i, user := range []string{"lea", "lea", "lea", "tom", "tom"} {
		id := domain.NewBatchID(first + int64(i))
		w.batches[id], ids = domain.Batch{ID: id}, append(ids, id)
		w.ticket = &domain.Ticket{Queue: fair.QueueMetadata, User: user, Slot: slots[user]}
		w.mustBatch(id, domain.SubmitBatch{Submission: domain.Submission{ProfileName: w.collection, Submitter: user, Type: domain.TypeFile, Size: int64(i+1) << 20}})
	}
	bad := &domain.Reason{Class: domain.ClassContent, Code: domain.CodeManifestInvalid, Message: "line 3"}
	for turn, i := range []int{0, 3, 1, 4} {
		w.now = w.now.Add(time.Minute)
		b := w.batches[ids[i]]
		ring := domain.RingPosition{Turn: int64(turn) + 1, Cursor: 3 - b.Ticket.Slot, Lap: 2}
		ticket := *b.Ticket
		ticket.Turn = ring.Turn
		w.mustBatch(ids[i], domain.GrabBatch{Ticket: ticket, Ring: ring, Rule: string(fair.RuleRoundRobin), Processor: "default"})
		if i < 4 {
			w.mustBatch(ids[i], domain.StartBatch{Problem: bad}, domain.BeginReport{})
			w.now = w.now.Add(time.Duration(turn+1) * 10 * time.Second)
			w.mustBatch(ids[i], domain.FinishReport{Report: w.report(w.batches[ids[i]])})
		}
	}
	w.mustBatch(ids[2], domain.ParkBatch{Ring: domain.RingPosition{Turn: 5, Cursor: 0, Lap: 0}, Reason: domain.Reason{Class: domain.ClassWait, Code: "parked", Message: "later"}})
	w.ticket = &domain.Ticket{Queue: fair.QueueMetadata, User: "lea", Slot: 3}
	w.mustBatch(ids[2], domain.UnparkBatch{Reason: domain.Reason{Class: domain.ClassWait, Code: "requested", Message: "now"}})
	w.ticket = nil
}

// TestDeposits: each time that a batch is in a deposit queue has its row, however many of
// its events are in one transaction and whatever the projector remembers of it.
func TestDeposits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 5)
	w.deposits(1)
	for _, most := range []int{1, 3, 1000} {
		t.Run(fmt.Sprint(most, " events at a time"), func(t *testing.T) {
			t.Parallel()
			db := projtest.DB(t)
			cfg := config(db, w.log)
			cfg.MaxBatch = most
			for _, upTo := range []int{len(w.log) / 2, len(w.log)} { // the second projector remembers nothing
				cfg.Source, cfg.Stream.Last = sourceOf(w.log[:upTo]), uint64(upTo)
				if err := run(t, cfg); err != nil {
					t.Fatal(err)
				}
			}
			rows, err := db.Query(t.Context(), `select format('%s/%s %s of %s in slot %s: %s %s of %s, %s by %s, ran %s, cursor %s used %s lap %s', right(d.batch_id, 1), d.number, d.size,
				d.user_name, d.slot, d.state, d.turn, d.queue, d.rule, d.processor, d.ran_seconds >= 10, a.cursor, a.used, a.lap)
				from report.deposit d join accession.deposit a using (batch_id, number) order by 1`)
			if err != nil {
				t.Fatal(err)
			}
			got, err := pgx.CollectRows(rows, pgx.RowTo[string])
			want := []string{
				"1/1 1048576 of lea in slot 1: ended 1 of metadata, round_robin by default, ran t, cursor 2 used 0 lap 2",
				"2/1 2097152 of lea in slot 1: ended 3 of metadata, round_robin by default, ran t, cursor 2 used 0 lap 2",
				"3/1 3145728 of lea in slot 1: parked 0 of metadata,  by , ran , cursor  used  lap ",
				"3/2 3145728 of lea in slot 3: waiting 0 of metadata,  by , ran , cursor  used  lap ",
				"4/1 4194304 of tom in slot 2: ended 2 of metadata, round_robin by default, ran t, cursor 1 used 0 lap 2",
				"5/1 5242880 of tom in slot 2: running 4 of metadata, round_robin by default, ran , cursor 1 used 0 lap 2",
			}
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) || err != nil {
				t.Errorf("%v\ngot  %q\nwant %q", err, got, want)
			}
			if n := count(t, db, "select count(*) from report.user_share where grabs = 2 and share_of_grabs = 0.5 and share_of_time between 0 and 1"); n != 2 {
				t.Errorf("%d users have half of the grabs", n)
			}
			if n := count(t, db, "select count(*) from report.deposit_wait where grabs = 2 and p50_seconds > 0 and p50_seconds <= p95_seconds and p95_seconds <= max_seconds"); n != 2 {
				t.Errorf("%d users have their waiting times", n)
			}
		})
	}
}

// TestDepositsOfQueries: queries have their rows beside those of batches, by queue, and the
// row of a query has its grab and its format.
func TestDepositsOfQueries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 5)
	w.deposits(1)
	w.queries()
	db := projtest.DB(t)
	cfg := config(db, w.log)
	cfg.MaxBatch = 3
	if err := run(t, cfg); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int{
		"select count(*) from report.deposit where queue = 'query' and number = 1 and batch_id like 'qid%' and size = 90":                                         4,
		"select count(*) from report.deposit where queue = 'query' and state = 'ended' and turn > 0":                                                              3,
		"select count(*) from report.deposit where queue = 'query' and state = 'waiting' and user_name = 'tom'":                                                   1,
		"select count(*) from report.grab where queue = 'query' and rule = 'round_robin' and processor = 'default' and waited_seconds > 0 and cursor = 0":         3,
		"select count(*) from report.grab where queue = 'metadata'":                                                                                               4,
		"select count(*) from report.deposit_wait where queue = 'query' and (user_name, grabs) in (('lea', 2), ('tom', 1))":                                       2,
		"select count(*) from report.user_share where queue = 'query' and (user_name, grabs) in (('lea', 2), ('tom', 1)) and share_of_time between 0.01 and 0.99": 2,
		"select count(*) from report.query where status <> 'received' and turn between 1 and 3 and rule = 'round_robin' and format = 'text'":                      3,
		"select count(*) from report.query where status = 'received' and turn is null and rule is null":                                                           1,
	} {
		if n := count(t, db, query); n != want {
			t.Errorf("%s: %d, want %d", query, n, want)
		}
	}
}

// TestWaitsAndSharesByDay: the numbers of report.deposit_wait and report.user_share, by
// hand. A grab counts on its day in UTC, and what still runs has no time yet.
func TestWaitsAndSharesByDay(t *testing.T) {
	t.Parallel()
	db := projtest.DB(t)
	if _, err := db.Exec(t.Context(), `insert into accession.deposit (batch_id, number, queue, user_name, slot, turn, size, received_at, grabbed_at, ended_at, seq)
		select 'bid' || turn, 1, queue, user_name, 1, turn, 0, grabbed_at - make_interval(secs => waited), grabbed_at, grabbed_at + make_interval(secs => ran), turn
		from (values
			(1, 'metadata', 'lea', timestamptz '2026-03-01 00:00:00Z', 10, 30),
			(2, 'metadata', 'lea', timestamptz '2026-03-01 12:00:00Z', 20, 20),
			(3, 'metadata', 'tom', timestamptz '2026-03-01 12:00:01Z', 5, 150),
			(4, 'metadata', 'lea', timestamptz '2026-03-01 23:59:59Z', 40, null),
			(5, 'metadata', 'lea', timestamptz '2026-03-02 01:00:00+01', 60, 10), -- the 2nd in UTC
			(6, 'query', 'lea', timestamptz '2026-03-01 12:00:00Z', 7, 1),
			(0, 'metadata', 'tom', timestamptz '2026-03-01 13:00:00Z', 999, 999)  -- not grabbed: synchronous
		) as d (turn, queue, user_name, grabbed_at, waited, ran)`); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ query, want string }{
		// The 95th of 10, 20 and 40 is nine tenths of the way from the second to the third.
		{`select format('%s %s %s %s %s %s %s', day, queue, user_name, grabs, p50_seconds, round(p95_seconds::numeric, 3), max_seconds) from report.deposit_wait order by day, queue, user_name`,
			"[2026-03-01 metadata lea 3 20 38.000 40 | 2026-03-01 metadata tom 1 5 5.000 5 | 2026-03-01 query lea 1 7 7.000 7 | 2026-03-02 metadata lea 1 60 60.000 60]"},
		{`select format('%s %s %s %s %s %s %s', day, queue, user_name, grabs, round(share_of_grabs, 3), ran_seconds, round(share_of_time::numeric, 3)) from report.user_share order by day, queue, user_name`,
			"[2026-03-01 metadata lea 3 0.750 50 0.250 | 2026-03-01 metadata tom 1 0.250 150 0.750 | 2026-03-01 query lea 1 1.000 1 1.000 | 2026-03-02 metadata lea 1 1.000 10 1.000]"},
	} {
		rows, err := db.Query(t.Context(), c.query)
		if err != nil {
			t.Fatal(err)
		}
		got, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if all := "[" + strings.Join(got, " | ") + "]"; all != c.want || err != nil {
			t.Errorf("%v\ngot  %s\nwant %s", err, all, c.want)
		}
	}
}
