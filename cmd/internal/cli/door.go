package cli

import (
	"context"
	"io"
	"strconv"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/cmd/internal/remote"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// errNotOverHTTP ends a command that runs, rebuilds or restores servers, or reads files of
// the service.
var errNotOverHTTP = exit.Usagef("this command is not over HTTP: run it on a machine of the service, with its settings and without server")

// request is what a command asks for: the name of an operation, and a pointer to its input.
type request struct {
	name string
	in   any
}

// over returns the work of a command that calls the use cases wherever they are.
func (p *program) over(do func(ctx context.Context, d door.Door, args []string) error) runE {
	return p.anywhere(func(ctx context.Context, args []string) (err error) {
		cfg, err := p.settings()
		if err != nil {
			return err
		}
		if cfg.Server != "" {
			there, err := p.server(cfg.Server)
			if err != nil {
				return err
			}
			return do(ctx, door.Door{There: there}, args)
		}
		a, closing := run.Open(cfg, domain.UserActor(userName()), Version, p.quiet(cfg.Config))
		defer func() {
			if closed := closing(); err == nil {
				err = closed
			}
		}()
		return do(ctx, door.Door{Here: a, Unnoted: door.Unnoted(p.Err)}, args)
	})
}

// served returns the work of a command that asks for what as says, and shows the answer.
func served[V any](p *program, as func(args []string) request, write func(io.Writer, V)) runE {
	return p.over(func(ctx context.Context, d door.Door, args []string) error {
		r := as(args)
		v, err := door.Carry[V](ctx, d, r.name, r.in)
		if err != nil {
			return err
		}
		return show(p, v, write)
	})
}

// whole is served for a list without further pages.
func whole[T any](p *program, as func(args []string) request, write func(io.Writer, []T)) runE {
	return served(p, as, func(w io.Writer, list app.Page[T]) { write(w, list.Items) })
}

// server returns the service at a URL, with the credential of this user: that of
// ACCESSION_API_KEY or ACCESSION_TOKEN, or what `accession login` has kept.
func (p *program) server(url string) (*remote.Server, error) {
	for _, name := range []string{config.EnvPrefix + "API_KEY", config.EnvPrefix + "TOKEN"} {
		if token := config.Lookup(p.Environ, name); token != "" {
			return remote.Open(url, remote.Credential{Token: token})
		}
	}
	kept, err := p.kept()
	if err != nil {
		return nil, err
	}
	token, err := kept.Token(url)
	if err != nil {
		return nil, err
	}
	return remote.Open(url, remote.Credential{Token: token})
}

// kept returns the file in which the keys and sessions of this user are.
func (p *program) kept() (remote.Kept, error) {
	return remote.KeptIn(func(name string) string { return config.Lookup(p.Environ, name) })
}

// pageOf says which page of a list a service is asked for.
func pageOf(limit int, from app.Cursor) operation.Page {
	return operation.Page{Limit: limit, Cursor: string(from)}
}

// filter says what a list of a service is chosen by.
func filter(f app.Filter) operation.Filter {
	return operation.Filter{Profile: f.Profile, Collection: f.Collection, Submitter: f.Submitter, Code: f.Code, Host: f.Host, Age: operation.Age{Since: f.Since, OlderThan: f.Until}}
}

// at says as of when a service is asked for something.
func at(m app.Moment) (a operation.At) {
	switch {
	case m.Seq > 0:
		a.At = strconv.FormatUint(m.Seq, 10)
	case !m.Time.IsZero():
		a.At = m.Time.Format(time.RFC3339Nano)
	}
	return a
}

// atServer returns the work of a command about what is kept for a service.
func (p *program) atServer(do func(ctx context.Context, url string, kept remote.Kept) error) runE {
	return p.anywhere(func(ctx context.Context, _ []string) error {
		cfg, err := p.settings()
		if err != nil {
			return err
		}
		if cfg.Server == "" {
			return exit.Usagef("which service? give its URL with --server, or in ACCESSION_SERVER")
		}
		if _, err := remote.Parse(cfg.Server); err != nil {
			return err
		}
		kept, err := p.kept()
		if err != nil {
			return err
		}
		return do(ctx, cfg.Server, kept)
	})
}
