package cli

import (
	"context"
	"log/slog"
	"os"
	"os/user"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// using opens the use cases for a command, under a context that the first signal
// ends, and closes what was opened behind it.
func (p *program) using(ctx context.Context, do func(ctx context.Context, a *app.App) error) error {
	cfg, err := p.settings()
	if err != nil {
		return err
	}
	return p.usingConfig(ctx, cfg, do)
}

func (p *program) usingConfig(ctx context.Context, cfg config.Resolved, do func(ctx context.Context, a *app.App) error) (err error) {
	a, closing := run.Open(cfg, domain.UserActor(userName()), p.quiet(cfg.Config))
	defer func() {
		if closed := closing(); err == nil {
			err = closed
		}
	}()
	return do(ctx, a)
}

// quiet gives a command's logger: it says in its error what went wrong, and the
// drivers' own remarks are for those who ask for them.
func (p *program) quiet(cfg config.Config) *slog.Logger {
	if cfg.LogLevel == "debug" {
		return p.logger(cfg)
	}
	return slog.New(slog.DiscardHandler)
}

// userName is who runs the program, as events tell it.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	return "unknown"
}
