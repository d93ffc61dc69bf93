package console

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/form"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/table"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain"
)

// eventsPage shows events of the history: the newest, or from a moment on in the order of the log.
type eventsPage struct {
	list
	Newest bool // it begins with the newest, which come while it is open
}

const (
	shownEvents  = 100  // on a page
	newestEvents = 1000 // of the log, of which those that are chosen are shown
)

// pagesOf are the pages of things by their kind.
var pagesOf = map[domain.Kind]func(string) string{domain.KindBatch: toBatch, domain.KindJob: toJob, domain.KindFile: toFile, domain.KindEntry: toEntry, domain.KindQuery: toQuery, domain.KindSlot: toSlot}

var eventColumns = table.Columns[happened]{Operation: "event.follow", Title: "Events", None: "No such event is here: choose fewer conditions to see others.", List: slices.Concat([]table.Column[happened]{
	table.Col("seq", "Sequence", func(h happened) any { return strconv.FormatUint(h.Seq, 10) }),
}, lifeColumns.List[:2], []table.Column[happened]{
	table.Col("subject", "Of", func(h happened) any {
		of, err := domain.ParseAggregate(h.Subject)
		if to := pagesOf[of.Kind]; err == nil && to != nil {
			return cell.To(h.Subject, to(of.ID))
		}
		return h.Subject
	}),
}, lifeColumns.List[2:len(lifeColumns.List)-1])}

// eventFields are what events are chosen by.
func eventFields() []field {
	return []field{{Name: "kind", Label: "Kind", Choices: []string{"batch", "job", "file", "query", "entry", "slot", "setting"}}, {Name: "collection", Label: "Collection"}, {Name: "type", Label: "Type, such as job.failed"},
		{Name: "batch", Label: "Batch"}, {Name: "job", Label: "Job"}, {Name: "file", Label: "File (hash)"}, {Name: "profile", Label: "Profile"}, {Name: "submitter", Label: "Depositor"}, {Name: "actor", Label: "By"},
		{Name: "code", Label: "Code of the reason"}, {Name: "since", Label: "From (UTC)", Kind: "date"}, {Name: "until", Label: "Before (UTC)", Kind: "date"}}
}

// history shows events of the log, and those that come.
func (*Console) history(v *visit) (page, error) {
	chosen, err := v.Parameters()
	if err != nil {
		return page{}, err
	}
	chosen.Del("limit")
	follow := url.Values{}
	for name, values := range chosen {
		if name != "after" && name != "since" && name != "until" {
			follow[name] = values
		}
	}
	d := eventsPage{Newest: !chosen.Has("after") && !chosen.Has("since") && !chosen.Has("until")}
	d.Fields, d.Path = filter(v, eventFields()...), v.URL.Path
	d.Chosen = slices.ContainsFunc(d.Fields, func(f field) bool { return f.Value != "" })
	most := shownEvents + 1 // whether there are more
	switch {
	case d.Newest && (chosen.Has("batch") || chosen.Has("job") || chosen.Has("file")):
		chosen.Set("after", "0")
		most = newestEvents
	case d.Newest:
		chosen.Set("newest", strconv.Itoa(newestEvents))
		most = newestEvents
	case !chosen.Has("after"):
		chosen.Set("after", "0")
	}
	chosen.Set("to", endOfLog)
	all, err := readEvents(v, chosen, most)
	if err != nil {
		return page{}, err
	}
	if d.Newest {
		slices.Reverse(all)
		all = all[:min(len(all), shownEvents)]
	}
	if len(all) > shownEvents {
		all = all[:shownEvents]
		d.Table.Next = form.Address(v.URL.Path, v.URL.Query(), "after", strconv.FormatUint(all[shownEvents-1].Seq, 10))
	}
	t := eventColumns.Table(all)
	t.Next, t.CSV = d.Table.Next, form.Address(v.URL.Path+".csv", v.URL.Query(), "after", "")
	d.Table = t
	p := page{Name: "events", Title: "Events", Where: "events", Data: d}
	if d.Newest {
		// All that the caller may see is followed by an empty choice.
		p.Follow = cmp.Or(follow.Encode(), "newest=0")
	}
	return p, nil
}

// eventsFile sends all events that an address chooses as CSV, in the order of the log up to its end of
// now. One that cannot be read to its end is cut off.
func eventsFile(v *visit, w http.ResponseWriter) error {
	chosen, err := v.Parameters()
	if err != nil {
		return err
	}
	chosen.Del("limit")
	chosen.Set("after", "0")
	chosen.Set("to", endOfLog)
	r, err := v.Operation("event.follow", chosen)
	if err != nil {
		return err
	}
	s := &rowsOfEvents{to: w}
	err = ask.From(v.API, s, r)
	switch {
	case s.Status >= http.StatusMultipleChoices:
		return ask.Problem(&s.Answer)
	case s.gone: // the client
	case err != nil || !s.ended:
		panic(http.ErrAbortHandler)
	default:
		_ = s.out.Close() // the client may be gone
	}
	return nil
}

// rowsOfEvents is a stream of events that becomes a file, event by event.
type rowsOfEvents struct {
	ask.Answer                     // its body is what came since the last event
	to         http.ResponseWriter // the client
	out        *export.CSV
	gone       bool // the client
	ended      bool // the stream, where it is to
}

// Write implements http.ResponseWriter.
func (s *rowsOfEvents) Write(p []byte) (n int, err error) {
	n, _ = s.Answer.Write(p) // into memory
	if s.Status >= http.StatusMultipleChoices {
		return n, nil
	}
	if s.out == nil {
		s.out, err = eventColumns.Begin(s.to, "event")
	}
	s.ended = s.ended || bytes.Contains(s.Body.Bytes(), []byte("\n: end\n"))
	whole := bytes.LastIndex(s.Body.Bytes(), []byte("\n\n")) + 1
	all, broken := happenedIn(s.Body.Bytes())
	if broken != nil {
		return n, broken
	}
	for _, h := range all {
		if err == nil {
			err = s.out.Row(eventColumns.Row(h)...)
		}
	}
	s.gone = err != nil
	if len(all) > 0 {
		s.Body.Next(whole)
	}
	return n, err
}

// readEvents returns the first events that are chosen: no more than most of them are read.
func readEvents(v *visit, chosen url.Values, most int) ([]happened, error) {
	ctx, enough := context.WithCancel(v.Context())
	defer enough()
	r, err := v.Operation("event.follow", chosen)
	if err != nil {
		return nil, err
	}
	a := &bounded{most: most, enough: enough}
	cut := ask.From(v.API, a, r.WithContext(ctx))
	if a.Status >= http.StatusMultipleChoices {
		return nil, ask.Problem(&a.Answer)
	}
	all, err := happenedIn(a.Body.Bytes())
	if err == nil && len(all) < most {
		err = cut // else there are enough
	}
	return all[:min(len(all), most)], err
}

// bounded is an answer that ends once it has enough events.
type bounded struct {
	ask.Answer
	most, n int
	enough  func()
}

// Write implements http.ResponseWriter.
func (s *bounded) Write(p []byte) (int, error) {
	if s.n >= s.most {
		s.enough()
		return 0, http.ErrHandlerTimeout
	}
	s.n += bytes.Count(p, []byte("\ndata: "))
	return s.Answer.Write(p)
}
