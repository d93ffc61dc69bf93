package showing

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

type (
	id   string
	item struct {
		version int64
		from    string
	}
)

func (i item) Over() bool { return i.version > 2 }

// open opens tables and a live state of which nothing is asked here.
type open struct {
	app.Tables
	app.LiveState
}

func (open) DB(context.Context) (query.DB, error)                 { return nil, nil }
func (open) Handler(context.Context) (*eventstore.Handler, error) { return nil, nil }

func testApp() *app.App {
	return &app.App{Open: app.Resources{LiveState: open{}, Tables: open{}}}
}

func TestPage(t *testing.T) {
	t.Parallel()
	list := List[id, int, id]{Kind: "item", Parse: func(s string) (id, error) { return id(s), nil }, Item: func(row int) id { return id(strconv.Itoa(row)) }, ID: func(i id) id { return i }}
	read := func(_ query.Reader, after id, limit int) (rows []int, err error) {
		first := 1
		if after != "" {
			last, err := strconv.Atoi(string(after))
			if err != nil {
				return nil, err
			}
			first = last + 1
		}
		for i := first; i <= 150 && len(rows) < limit; i++ {
			rows = append(rows, i)
		}
		return rows, nil
	}
	var sizes []int
	var all []id
	var from app.Cursor
	for {
		p, err := list.Page(t.Context(), testApp(), from, 60, read)
		if err != nil {
			t.Fatal(err)
		}
		sizes, all = append(sizes, len(p.Items)), append(all, p.Items...)
		if from = p.Next; from == "" {
			break
		}
	}
	if !slices.Equal(sizes, []int{60, 60, 30}) || len(all) != 150 || all[60] != "61" {
		t.Errorf("pages of %v items, %d together", sizes, len(all))
	}
	if p, err := list.Page(t.Context(), testApp(), "", 0, read); err != nil || len(p.Items) != defaultLimit || p.Next == "" {
		t.Errorf("without a limit: %d items, next %q, %v", len(p.Items), p.Next, err)
	}
	other := List[id, int, id]{Kind: "other", Parse: list.Parse, Item: list.Item, ID: list.ID}
	p, err := list.Page(t.Context(), testApp(), "", 1, read)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Page(t.Context(), testApp(), p.Next, 1, read); err == nil {
		t.Error("the cursor of another list was taken")
	}
}

func TestLatest(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, c := range []struct {
		name         string
		live, tables int64 // the version; 0 = it is not there, -1 = it cannot be read
		want         string
		err          error
	}{
		{"both are as far", 3, 3, "tables", nil},
		{"the tables are behind", 4, 3, "live", nil},
		{"the tables are further", 3, 4, "tables", nil},
		{"not in the live state any more", 0, 3, "tables", nil},
		{"not in the tables yet", 1, 0, "live", nil},
		{"nowhere", 0, 0, "", query.ErrNotFound},
		{"the live state cannot be read", -1, 3, "", broken},
		{"the tables cannot be read", 3, -1, "", broken},
	} {
		reads := func(from string, version int64, missing error) (item, error) {
			switch version {
			case 0:
				return item{}, missing
			case -1:
				return item{}, broken
			}
			return item{version, from}, nil
		}
		got, err := Latest(t.Context(), testApp(), func(i item) int64 { return i.version },
			func(*eventstore.Handler) (item, error) { return reads("live", c.live, eventstore.ErrNotFound) },
			func(query.Reader) (item, error) { return reads("tables", c.tables, query.ErrNotFound) })
		if got.from != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: from %q, %v, want %q, %v", c.name, got.from, err, c.want, c.err)
		}
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked int64
		got, err := Watch(t.Context(), func() (item, error) {
			asked++
			return item{version: asked}, nil
		})
		if err != nil || got.version != 3 || asked != 3 {
			t.Errorf("asked %d times: version %d, %v", asked, got.version, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := Watch(ctx, func() (item, error) { cancel(); return item{}, nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("the end of its context: %v", err)
		}
	})
}
