package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// maxLine bounds a line of a stream of events, in bytes.
const maxLine = 16 << 20

// Follow yields the events that a service streams, in order and each once: a stream that
// breaks is resumed behind the last event. It ends with To, if that is set, or after an error.
func (s *Server) Follow(ctx context.Context, in operation.EventStream) iter.Seq2[app.Event, error] {
	return func(yield func(app.Event, error) bool) {
		f := following{in: in, yield: yield}
		for {
			if err := s.do(ctx, "event.follow", &f.in, nil, f.read); err != nil {
				if !f.over {
					yield(app.Event{}, err)
				}
				return
			}
			if f.over {
				return
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				yield(app.Event{}, ctx.Err())
				return
			}
		}
	}
}

// following is a stream of events, over several requests.
type following struct {
	in    operation.EventStream
	yield func(app.Event, error) bool
	over  bool // the stream has ended, or the caller wants no more of it
}

// read reads the answer to one request. One that breaks off is an error only if nothing of it
// came.
func (f *following) read(answer *http.Response) error {
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxLine)
	id, data, came := "", "", false
	for lines.Scan() {
		came = true
		switch line := lines.Text(); {
		case line == ": end":
			f.over = true
			return nil
		case strings.HasPrefix(line, "id: "):
			id = strings.TrimPrefix(line, "id: ")
		case strings.HasPrefix(line, "data: "):
			data += strings.TrimPrefix(line, "data: ")
		case line == "":
			if data != "" {
				var e app.Event
				if err := json.Unmarshal([]byte(data), &e); err != nil {
					return fmt.Errorf("event %s of the server cannot be read: %w", id, err)
				}
				if f.over = !f.yield(e, nil); f.over {
					return nil
				}
			}
			if id != "" {
				f.in.Last = id // of what was yielded, or is of no concern
			}
			id, data = "", ""
		}
	}
	if err := lines.Err(); err != nil && !came {
		return &brokenError{err}
	}
	if !came {
		return &brokenError{io.ErrUnexpectedEOF}
	}
	return nil
}
