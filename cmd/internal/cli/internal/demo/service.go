package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/tables"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/servers"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/cmd/internal/stack"
	"github.com/accession-ingest/accession/deploy/profiles"
)

// demo is a demonstration: servers, service, samples and an operator, all in this
// process.
type demo struct {
	Options
	stack    *stack.Stack
	cfg      config.Resolved
	app      *app.App
	door     string      // URL of the API
	client   http.Client // of the depositors
	logFile  string
	settings string         // file of the settings
	dirFlag  string         // the flag for the same directory
	closing  []func() error // in the order of opening
}

func (d *demo) step(format string, args ...any) { fmt.Fprintf(d.Out, "\n"+format+"\n", args...) }
func (d *demo) say(format string, args ...any)  { fmt.Fprintf(d.Out, "  "+format+"\n", args...) }

// newDemo starts everything. After an error nothing is left running.
func newDemo(ctx context.Context, o Options) (d *demo, err error) {
	d = &demo{Options: o, client: http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.stop())
		}
	}()
	if o.Dir != "" {
		d.dirFlag = " --dir " + o.Dir
	}
	dir, err := emptyDir(ctx, o.Dir)
	if err != nil {
		return d, err
	}
	fmt.Fprintf(o.Out, "Starting private ZooKeeper, NATS and PostgreSQL in %s\n", dir)
	if d.stack, err = servers.Start(ctx, stack.Options{Dir: dir}, o.Out); err != nil {
		return d, err
	}
	d.closing = append(d.closing, func() error { return servers.Stop(d.stack, nil) })
	if err := d.configure(); err != nil {
		return d, err
	}
	a, closing := run.Open(d.cfg, "user/demo", d.Version, slog.New(slog.DiscardHandler))
	d.app, d.closing = a, append(d.closing, closing)
	done, err := tables.Migrate(ctx, a, false)
	if err != nil {
		return d, err
	}
	d.step("The tables are created: %d migrations for the projections, %d for the records.", done.Applied["accession"], done.Applied["record"])
	err = d.startService(ctx)
	return d, err
}

// emptyDir returns a directory without data: an earlier demonstration in it is
// removed, unless it is still running.
func emptyDir(ctx context.Context, dir string) (string, error) {
	if dir != "" {
		err := stack.Remove(ctx, dir)
		if err != nil && !errors.Is(err, stack.ErrLocked) && ctx.Err() == nil {
			err = &app.Error{Kind: app.Refused, What: "demo", Err: err, Hint: "name a new directory with --dir, or that of an earlier demonstration"}
		}
		return dir, err
	}
	dir = servers.DemoDir
	for n := 2; ; n++ {
		if err := stack.Remove(ctx, dir); !errors.Is(err, stack.ErrLocked) {
			return dir, err
		}
		dir = fmt.Sprintf("%s-%d", servers.DemoDir, n)
	}
}

// configure writes the demonstration's profile and settings. The user's own
// settings are not used.
func (d *demo) configure() (err error) {
	data := filepath.Join(d.stack.Dir(), "accession")
	if err := os.MkdirAll(filepath.Join(data, "profiles"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(data, "profiles", "demo.yaml"), profiles.Demo, 0o644); err != nil {
		return err
	}
	if data, err = filepath.Abs(data); err != nil {
		return err
	}
	at := d.stack.Addresses()
	settings := map[string]string{
		"instance": "demo", "zookeeper": at.ZooKeeper, "nats": at.NATS, "postgres": at.Postgres, "data_dir": data,
		"retry_delay": "200ms", "space_cycle": "500ms", "janitor_interval": "1s", "space_reserve": "64 MiB", "listen_ops": config.Off,
		"listen_http": "127.0.0.1:0", "ready_interval": "200ms", "sweep_interval": "500ms",
	}
	d.settings = servers.SettingsFile(d.stack.Dir())
	if err := servers.WriteSettings(d.settings, settings); err != nil {
		return err
	}
	d.cfg, err = config.Load(config.Sources{Flags: settings})
	return err
}

// startService runs all roles in this process; its log goes to a file.
func (d *demo) startService(ctx context.Context) error {
	d.logFile = filepath.Join(d.cfg.DataDir, "accession.log")
	file, err := os.Create(d.logFile)
	if err != nil {
		return err
	}
	d.closing = append(d.closing, file.Close)
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	ready, ended := make(chan struct{}), make(chan error, 1)
	s := &run.Service{Config: d.cfg, Roles: append(slices.Clone(run.AllRoles), run.RoleHTTP), Version: d.Version, Ready: func() { close(ready) },
		Answering: func(address string) { d.door = "http://" + address },
		Log:       export.ForLibraries(slog.New(slog.NewJSONHandler(export.NewEscaping(file), nil)))}
	go func() { ended <- s.Run(serving) }()
	select {
	case <-ready:
		d.closing = append(d.closing, func() error { stop(); return <-ended })
		d.step("The service is running: eleven daemons, the relay, the projector, and the API at\n%s. Its log is %s", d.door, d.logFile)
		return nil
	case err := <-ended:
		stop()
		return err
	}
}

// serve serves a handler on this machine, and returns its URL.
func (d *demo) serve(h http.Handler) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(listener) }()
	d.closing = append(d.closing, func() error { err := server.Close(); <-ended; return err })
	return "http://" + listener.Addr().String(), nil
}

// stop ends what was started, in reverse order.
func (d *demo) stop() error {
	if len(d.closing) > 1 {
		d.step("Stopping service and servers.")
	}
	var faults []error
	for _, closing := range slices.Backward(d.closing) {
		faults = append(faults, closing())
	}
	d.closing = nil
	return errors.Join(faults...)
}

// relative shortens a path below the working directory.
func relative(path string) string {
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, path); err == nil && !strings.HasPrefix(rel, "..") {
			return rel
		}
	}
	return path
}
