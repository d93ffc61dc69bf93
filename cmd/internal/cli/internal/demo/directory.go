package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/directories"
	"github.com/accession-ingest/accession/cmd/internal/app/slots"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/eligible"
	"github.com/accession-ingest/accession/domain/setting"
)

// instrument is an open directory into which an instrument writes: it lists its files as nginx
// does in JSON.
type instrument string

// ServeHTTP implements http.Handler.
func (dir instrument) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" {
		http.ServeFileFS(w, r, os.DirFS(string(dir)), strings.TrimPrefix(r.URL.Path, "/"))
		return
	}
	type row struct {
		Name string `json:"name"`
		Type string `json:"type"`
		Time string `json:"mtime"`
		Size int64  `json:"size"`
	}
	list := []row{}
	entries, err := os.ReadDir(string(dir))
	for _, e := range entries {
		info, failed := e.Info()
		if err = errors.Join(err, failed); failed == nil {
			list = append(list, row{e.Name(), "file", info.ModTime().UTC().Format(http.TimeFormat), info.Size()})
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list) // the client has gone
}

// writes puts a file into the directory as a whole.
func (dir instrument) writes(name string) error {
	part := filepath.Join(filepath.Dir(string(dir)), name)
	if err := os.WriteFile(part, fmt.Appendf(nil, "what the instrument has written into %s\n", name), 0o644); err != nil {
		return err
	}
	return os.Rename(part, filepath.Join(string(dir), name))
}

// dataset is that of the directory, and the name of what is polled for it.
const dataset = "night"

// directory has an open directory polled: of three files two may be processed, and one waits
// for its companion until that comes. A worker then processes them.
func (d *demo) directory(ctx context.Context) error {
	dir := instrument(filepath.Join(d.stack.Dir(), "instrument", "night"))
	if err := os.MkdirAll(string(dir), 0o755); err != nil {
		return err
	}
	at, err := d.serve(dir)
	if err != nil {
		return err
	}
	d.step("An instrument writes into an open directory at %s/. It is polled for the dataset %s,\nin which an image waits for its description:", at, dataset)
	const why = "the demonstration"
	profile := "demo"
	rules := setting.Rules{Companions: []setting.Companion{{Of: "*.img", Needs: "{stem}.txt"}}}
	if _, err := directories.AddDataset(ctx, d.app, dataset, directories.DatasetEdit{Profile: &profile, Rules: &rules}, why); err != nil {
		return err
	}
	from, err := d.app.LogEnd(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{"image-1.img", "image-1.txt", "image-2.img"} {
		if err := dir.writes(name); err != nil {
			return err
		}
	}
	if _, err := directories.AddDiscovery(ctx, d.app, dataset, domain.Discovery{URL: at + "/", Dataset: dataset}, why); err != nil {
		return err
	}
	if from, err = d.become(ctx, from+1, map[string]domain.FileState{"image-1.img": domain.FileReady, "image-1.txt": domain.FileReady, "image-2.img": domain.FileDownloaded}); err != nil {
		return err
	}
	if err := d.waits(ctx, domain.HashFile(at+"/", "image-2.img")); err != nil {
		return err
	}
	if err := dir.writes("image-2.txt"); err != nil {
		return err
	}
	if _, err := directories.RunDiscovery(ctx, d.app, dataset, why); err != nil {
		return err
	}
	if from, err = d.become(ctx, from+1, map[string]domain.FileState{"image-2.img": domain.FileReady, "image-2.txt": domain.FileReady}); err != nil {
		return err
	}
	return d.process(ctx, dir, at+"/", rules, from)
}

// become shows what becomes of files until each is in its state, and returns the last sequence.
func (d *demo) become(ctx context.Context, from uint64, want map[string]domain.FileState) (uint64, error) {
	for e, err := range d.app.Tail(ctx, app.TailOptions{Selection: app.Selection{From: from, Types: []string{"file.*"}}, Follow: true}) {
		if err != nil {
			return 0, err
		}
		m, _ := domain.MoveOfFile(e.Data)
		if m.Dataset != dataset {
			continue
		}
		d.say("%-24s %-12s %s", e.Type, m.Path, m.To)
		if m.To == want[m.Path] {
			delete(want, m.Path)
		}
		if from = e.Seq; len(want) == 0 {
			return from, nil
		}
	}
	return 0, ctx.Err()
}

// waits shows what a file waits for.
func (d *demo) waits(ctx context.Context, hash domain.FileHash) error {
	if err := d.app.CatchUp(ctx); err != nil {
		return err
	}
	all, err := slots.Waits(ctx, d.app, hash)
	if err != nil {
		return err
	}
	if len(all) != 1 || all[0].Code != eligible.CodeCompanionMissing {
		return fmt.Errorf("not as intended: the image without a description waits for %v", all)
	}
	d.step("As `accession file show` says, image-2.img waits for %s. The instrument writes it:\n", all[0].For)
	return nil
}
