package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/ocflcheck"
)

// TestOCFL: a profile whose layout is ocfl stores objects that other programs read: an update
// adds what is new, everything that reads stored objects reads them, the inventory is made again
// from them, and what describes them from the newest version. A profile may get the layout later.
// Shows: P13
func TestOCFL(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	server := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch here := "http://" + r.Host; r.URL.Path {
		case "/first":
			_, _ = w.Write(checkm("mrt-batch-manifest", batchColumns, here+"/tides | | | | | o.checkm | | tides | A | Tides | 2026"))
		case "/second":
			_, _ = w.Write(checkm("mrt-single-file-batch-manifest", batchColumns, here+"/new?n=2 | | | | | new.txt | | tides | A | Tides | 2026"))
		case "/third":
			_, _ = w.Write(checkm("mrt-single-file-batch-manifest", batchColumns, here+"/new?n=3 | | | | | new.txt | | tides | A | Tides | 2026"))
		case "/tides":
			_, _ = w.Write(checkm("mrt-ingest-manifest", "", here+"/a?n=1 | | | | | a.txt", here+"/b?n=1 | | | | | größe/b c.txt"))
		default:
			_, _ = w.Write([]byte(r.URL.String() + "\n"))
		}
	}))
	deposit := func(path, mode string, of domain.SubmissionType) {
		t.Helper()
		s, err := in.app.Submit(in.ctx(), app.Deposit{Profile: "test", Submitter: "ada", Payload: server + path, Type: of, Mode: mode})
		in.must(err)
		run := in.serve()
		run.works()
		in.rest(s.Batch)
		run.stop()
		in.shown()
	}
	deposit("/first", "add", domain.TypeBatchManifest) // in the layout of its own
	in.editProfile("fetch:", "layout: ocfl\nfetch:")
	in = in.with()
	deposit("/second", "update", domain.TypeFileBatchManifest)
	deposit("/third", "update", domain.TypeFileBatchManifest)

	in.serveInProcess("relay", "projector")
	in.shown()
	var object, key string
	in.must(in.db.QueryRow(t.Context(), "select primary_identifier, manifest_key from record.object_version where version = 3").Scan(&object, &key))
	root := filepath.Join(in.cfg.Store, "ocfl")
	if objects, faults := ocflcheck.Check(os.DirFS(root)); len(faults) > 0 || len(objects) != 1 || objects[0] != object {
		t.Fatalf("%v: %v", objects, faults)
	}
	read := ocflcheck.Read(t, root, object)[object]
	if len(read) != 2 || len(read["v2"]) != 6 || read["v2"]["producer/a.txt"] != read["v1"]["producer/a.txt"] || read["v2"]["producer/new.txt"] == read["v1"]["producer/new.txt"] {
		t.Errorf("ocfl-fs reads %v", read)
	}
	if content := in.content(filepath.Join(in.cfg.Store, filepath.FromSlash(filepath.Dir(key)), "producer")); len(content) != 1 || content["new.txt"] != "/new?n=3\n" {
		t.Errorf("the newest version has the content %v", content)
	}
	out := filepath.Join(t.TempDir(), "out")
	in.says(0, []string{"object", "export", object, "--dir", out}, "version 3")
	if all := in.content(out); all["producer/größe/b c.txt"] != "/b?n=1\n" || all["producer/new.txt"] != "/new?n=3\n" || all["manifest.json"] == "" {
		t.Errorf("%v", all)
	}
	in.says(0, words("verify --deep"), "no differences")

	before := in.inventory()
	in.exec("with f as (delete from record.object_file) delete from record.object_version where version > 1")
	in.says(20, words("verify"), string(consistency.VersionUnrecorded))
	in.says(0, words("verify --repair --yes"))
	if after := in.inventory(); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
	at := filepath.Join(in.cfg.Store, strings.TrimSuffix(filepath.FromSlash(key), filepath.FromSlash("v2/content/manifest-v3.json")))
	for name, text := range map[string]string{"inventory.json": "{", "inventory.json.sha256": "0"} {
		in.must(os.WriteFile(filepath.Join(at, name), []byte(text), 0o600))
		in.says(20, words("verify"), string(consistency.OCFLInventoryWrong), name)
		in.says(0, words("verify --repair --yes"))
		in.must(os.WriteFile(filepath.Join(at, name), []byte(text), 0o600))
		a, err := in.wired.Auditor(in.ctx())
		in.must(err)
		a.Interval, a.Rate = time.Millisecond, 0
		waitFor(t, "a pass of the auditor", func() bool {
			done, err := a.Once(in.ctx())
			in.must(err)
			return done
		})
		if _, faults := ocflcheck.Check(os.DirFS(root)); len(faults) > 0 {
			t.Errorf("%s: after the auditor: %v", name, faults)
		}
	}
	in.must(os.WriteFile(filepath.Join(at, "v2", "inventory.json"), []byte("{"), 0o600))
	in.must(os.WriteFile(filepath.Join(at, "inventory.json"), []byte("{"), 0o600))
	in.says(21, words("verify"), string(consistency.OCFLInventoryWrong))
}

// storesInOCFL: a second version of an object in OCFL is there once, wherever a process dies.
func storesInOCFL(o *crashInstallation, point string) {
	name := "o" + strings.ReplaceAll(uuid.NewString(), "-", "")
	file := filepath.Join(o.dir, name+".yaml")
	o.must(os.WriteFile(file, []byte(strings.ReplaceAll(profileOf(""), ": test\n", ": "+name+"\n")+"layout: ocfl\ncallback: {url: "+o.base+"/callback}\n"), 0o600))
	o.run("profile", "set", name, file, "--reason", "a test")
	for i, mode := range []string{"add", "update"} {
		o.n++
		_, err := o.app.Submit(o.ctx(), app.Deposit{Profile: name, Submitter: "tester", Payload: o.base + "/again?n=" + o.number(), Type: domain.TypeFileBatchManifest, Mode: mode})
		o.must(err)
		if i == 0 {
			o.finish()
		}
	}
	if strings.Contains(point, "/clear/") || strings.Contains(point, "/forget/") {
		o.dies("store/ocfl/install/before", nil, "serve")
	}
	o.dies(point, nil, "serve")
	o.finish()
	objects, faults := ocflcheck.Check(os.DirFS(filepath.Join(o.cfg.Store, "ocfl")))
	if len(faults) > 0 || len(objects) == 0 {
		o.t.Errorf("%s: %v: %v", point, objects, faults)
	}
	if n := o.count("select count(*) from record.object_version where profile_name = $1", name); n != 2 {
		o.t.Errorf("%s: %d versions", point, n)
	}
}
