package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
)

// place is a text that others may read, and where.
type place struct{ kind, where, text string }

// places returns what ZooKeeper holds, what operators are answered, and what the API
// answers to every request that reads, about these batches where it is about one.
func (in *installation) places(s *service, batches []domain.BatchID) (all []place) {
	in.t.Helper()
	in.raw().each("", func(node, data string) { all = append(all, place{"node", node, data}) })
	for _, path := range []string{"/livez", "/readyz", "/readyz?verbose", "/version", "/loglevel", "/metrics"} {
		_, text := s.asked(path) // /readyz may say no
		all = append(all, place{"page", path, text})
	}
	d := in.door()
	ids := map[string][]string{"object": {"ark:%2F99999%2Fnone"}, "batch": {"bid0000009999"}, "job": {"jid0000009999"}, "file": {strings.Repeat("ab", 32)}}
	for _, b := range batches {
		ids["batch"] = append(ids["batch"], string(b))
	}
	ids["job"] = append(ids["job"], in.column("select id from accession.job")...)
	ids["file"] = append(ids["file"], in.column("select raw_file_hash from accession.file")...)
	for _, ark := range in.column("select primary_identifier from report.inventory") {
		ids["object"] = append(ids["object"], strings.ReplaceAll(ark, "/", "%2F"))
	}
	end, err := in.app.LogEnd(in.ctx())
	in.must(err)
	succeeded := map[string]bool{}
	for _, op := range operation.Table() {
		if op.Method != http.MethodGet {
			continue
		}
		noun, _, _ := strings.Cut(op.Name, ".")
		of := []string{"none"}
		if strings.Contains(op.Path, "{id}") && ids[noun] != nil {
			of = ids[noun]
		}
		for _, id := range of {
			path := strings.NewReplacer("{id}", id, "{n}", "0", "files/{name}", "files/a.txt", "{name}", "test", "{prefix}", "abcdefgh").Replace(op.Path)
			if op.Path == "/v1/events" {
				path += fmt.Sprintf("?after=0&to=%d", end)
			}
			a := d.ask("ana admin/* reader/* operator/*", op.Method, path, "")
			succeeded[op.Name] = succeeded[op.Name] || a.status == http.StatusOK
			all = append(all, place{"HTTP answer", path, fmt.Sprint(a.header, a.body)})
		}
	}
	for _, name := range []string{"batch.ls", "batch.show", "batch.report", "job.ls", "job.show", "file.ls", "file.show", "object.ls", "object.show", "event.follow", "queue.ls", "status.show"} {
		if !succeeded[name] {
			in.t.Errorf("%s did not answer", name)
		}
	}
	return append(all, place{"log of the API", "", d.log.String()})
}

// column returns the values of a query's one column.
func (in *installation) column(query string) (all []string) {
	in.t.Helper()
	rows, err := in.db.Query(in.ctx(), query)
	in.must(err)
	all, err = pgx.CollectRows(rows, pgx.RowTo[string])
	in.must(err)
	return all
}

// each calls do with each node below one, and with that.
func (z tree) each(node string, do func(node, data string)) {
	z.in.t.Helper()
	data, _, err := z.conn.Get(z.in.cfg.ZooKeeperRoot + node)
	if errors.Is(err, zk.ErrNoNode) {
		return // it has gone meanwhile
	}
	z.must(err)
	do(node, string(data))
	names, _, err := z.conn.Children(z.in.cfg.ZooKeeperRoot + node)
	if !errors.Is(err, zk.ErrNoNode) {
		z.must(err)
	}
	for _, name := range names {
		z.each(node+"/"+name, do)
	}
}
