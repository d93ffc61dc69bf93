package follow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/accession-ingest/accession/eventstore/follow"
)

// Tally is the result of this program and its position in the log.
type Tally struct {
	Objects  int             `json:"objects"`
	Bytes    int64           `json:"bytes"`
	Position follow.Position `json:"position"`
}

// count counts stored objects until it has enough. The result and the position are
// written together, so that each event is counted once even if the program is killed.
func count(ctx context.Context, o follow.Options, file string, enough int) (t Tally, err error) {
	switch b, err := os.ReadFile(file); {
	case err == nil:
		if err := json.Unmarshal(b, &t); err != nil {
			return t, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return t, err
	}

	o.Types, o.After = []string{"job.processed"}, t.Position
	f, err := follow.Open(ctx, o)
	if err != nil {
		return t, err
	}
	defer f.Close()
	for e, err := range f.Events(ctx) {
		if err != nil {
			return t, err
		}
		var data struct {
			Object struct {
				Primary string
				Bytes   int64
			}
		}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			return t, fmt.Errorf("%s: %w", e.ID, err)
		}
		fmt.Println(e.Subject, data.Object.Primary, data.Object.Bytes)

		t.Objects, t.Bytes, t.Position = t.Objects+1, t.Bytes+data.Object.Bytes, e.Position
		if err := write(file, t); err != nil {
			return t, err
		}
		if t.Objects == enough {
			break
		}
	}
	return t, nil
}

// write replaces the file atomically.
func write(file string, t Tally) error {
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

func Example() {
	log := exampleLog() // URL, stream and prefix; the last two can be left out for the usual names
	defer log.close()
	defer log.destroy()
	dir, err := os.MkdirTemp("", "tally")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	for _, enough := range []int{2, 3} { // a break after two
		t, err := count(context.Background(), log.Options, filepath.Join(dir, "tally.json"), enough)
		if err != nil {
			panic(err)
		}
		fmt.Println(t.Objects, "objects,", t.Bytes, "bytes")
	}
	// Output:
	// job/jid0000000001 ark:/99999/fk4a 1000
	// job/jid0000000002 ark:/99999/fk4b 2000
	// 2 objects, 3000 bytes
	// job/jid0000000003 ark:/99999/fk4c 3000
	// 3 objects, 6000 bytes
}
