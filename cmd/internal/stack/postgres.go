package stack

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// postgresUser is both the system user that runs the server when we are root and
// the superuser inside.
const postgresUser = "postgres"

// initialisedMark is the file that says that initdb came to its end, and for whom.
const initialisedMark = ".initialised"

// debianPostgres is where Debian keeps each major version's programs.
const debianPostgres = "/usr/lib/postgresql/*/bin/initdb"

type postgres struct {
	bin  string // directory of its programs
	dir  string // its data
	own  string // the stack's directory
	pass string // of its superuser
	port int
	cred *syscall.Credential // nil: our own
}

// newPostgres finds the programs, the user and a directory that this user can
// enter, and records the directory.
func newPostgres(d *directory, port int) (p *postgres, err error) {
	p = &postgres{dir: filepath.Join(d.path, "postgres"), own: d.path, port: port, pass: d.state.Password}
	if os.Geteuid() == 0 {
		if p.cred, err = credential(postgresUser); err != nil {
			return nil, err
		}
	}
	if d.state.Postgres != "" {
		p.dir = d.state.Postgres
	} else if !p.canEnter(d.path) {
		p.dir = filepath.Join(apart, apartPrefix+d.state.ID)
	}
	if p.bin, err = findPostgres(p.version()); err != nil {
		return nil, err
	}
	return p, d.update(func(st *state) { st.Postgres = p.dir })
}

// version is the major version that made the data, "" when there is none yet. No
// other one can read it.
func (p *postgres) version() string {
	data, _ := os.ReadFile(filepath.Join(p.dir, "PG_VERSION"))
	return strings.TrimSpace(string(data))
}

// credential is that of a system user.
func credential(name string) (*syscall.Credential, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("stack: PostgreSQL does not run as root and there is no user %q: run `make setup`: %w", name, err)
	}
	cred := &syscall.Credential{}
	if _, err := fmt.Sscan(u.Uid+" "+u.Gid, &cred.Uid, &cred.Gid); err != nil {
		return nil, fmt.Errorf("stack: user %s: %w", name, err)
	}
	return cred, nil
}

// canEnter asks the kernel: it starts a program there as PostgreSQL's user.
func (p *postgres) canEnter(dir string) bool {
	if p.cred == nil {
		return true
	}
	cmd := exec.Command("true")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.cred}
	return cmd.Run() == nil
}

func (p *postgres) data() string   { return p.dir }
func (p *postgres) marker() string { return "-D " + p.dir }

// stopSignal asks for a “fast” stop: transactions roll back, data is flushed.
func (p *postgres) stopSignal() syscall.Signal { return syscall.SIGINT }

func (p *postgres) address() string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(postgresUser, p.pass), Host: loopback(p.port), Path: "/postgres", RawQuery: "sslmode=disable"}
	return u.String()
}

func (p *postgres) fresh() bool {
	_, err := os.Stat(filepath.Join(p.dir, initialisedMark))
	return err != nil
}

// prepare makes the data directory with initdb. A directory whose initdb was cut
// short lacks the mark and is made again.
func (p *postgres) prepare(ctx context.Context, n *launcher) error {
	if !p.fresh() {
		return p.secure(ctx, n) // it may have been made before there were passwords
	}
	if err := errors.Join(os.RemoveAll(p.dir), os.Mkdir(p.dir, 0o700)); err != nil {
		return err
	}
	if p.cred != nil {
		if err := os.Chown(p.dir, int(p.cred.Uid), int(p.cred.Gid)); err != nil {
			return err
		}
	}
	// Nothing is in it yet that a power cut could take: no need to sync.
	cmd := p.program(ctx, "initdb", "-D", p.dir, "-U", postgresUser, "--auth=trust", "--no-sync",
		"--locale=C.UTF-8", "--encoding=UTF8", "--no-instructions")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := n.run(cmd); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(out.String()))
	}
	if err := p.secure(ctx, n); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.dir, initialisedMark), []byte(p.own), 0o644)
}

// access returns pg_hba.conf, who may connect and how: over loopback, with the password,
// whose digest shows that it was set.
func (p *postgres) access() string {
	return fmt.Sprintf(`# written by accession stack for the password %.16x
host all all 127.0.0.1/32 scram-sha-256
host replication all 127.0.0.1/32 scram-sha-256
`, sha256.Sum256([]byte(p.pass)))
}

// secure sets the superuser's password, with a server that nothing can connect to, and lets
// in only those who know it. Where that was done nothing happens; where it was cut short it
// is done again.
func (p *postgres) secure(ctx context.Context, n *launcher) error {
	file := filepath.Join(p.dir, "pg_hba.conf")
	if rules, err := os.ReadFile(file); err != nil || string(rules) == p.access() {
		return err
	}
	cmd := p.program(ctx, "postgres", "--single", "-D", p.dir, "-c", "password_encryption=scram-sha-256", "postgres")
	cmd.Stdin = strings.NewReader("alter user " + postgresUser + " password '" + p.pass + "'\n")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := n.run(cmd); err != nil || strings.Contains(out.String(), "ERROR:") {
		return errors.Join(fmt.Errorf("set the password: %s", strings.ReplaceAll(strings.TrimSpace(out.String()), p.pass, "xxxxx")), err)
	}
	return os.WriteFile(file, []byte(p.access()), 0o600) // the file stays that of its owner
}

func (p *postgres) command() (*exec.Cmd, error) {
	return p.program(context.Background(), "postgres", "-D", p.dir, "-c", "port="+strconv.Itoa(p.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
		"-c", "max_connections=300", "-c", "shared_buffers=128MB", "-c", "max_wal_size=2GB",
		"-c", "timezone=UTC", "-c", "log_timezone=UTC"), nil
}

// program is one of PostgreSQL's programs, run as its user, deaf to PG* variables
// of our environment.
func (p *postgres) program(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, name), args...)
	cmd.Dir = p.dir
	cmd.Env = []string{"PATH=" + p.bin + ":/usr/bin:/bin", "LC_ALL=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.cred}
	return cmd
}

// busy reports, from the end of its log, whether processes of a server that was killed still
// use the data. They end by themselves a moment after their parent.
func (p *postgres) busy(log string) bool {
	return strings.Contains(log, "pre-existing shared memory block")
}

func (p *postgres) healthy(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, p.address())
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // only read
	var dir string
	if err := conn.QueryRow(ctx, "show data_directory").Scan(&dir); err != nil {
		return err
	}
	if dir != p.dir {
		return fmt.Errorf("another server answers at %s", loopback(p.port))
	}
	return nil
}

// findPostgres returns the directory of PostgreSQL's programs, in Debian's place
// or on the path: of the given major version, or of the newest when it is "".
func findPostgres(version string) (string, error) {
	best, newest := "", 0
	found, _ := filepath.Glob(debianPostgres)
	for _, initdb := range found {
		bin := filepath.Dir(initdb)
		name := filepath.Base(filepath.Dir(bin))
		if v, err := strconv.Atoi(name); err == nil && v > newest && (version == "" || version == name) {
			best, newest = bin, v
		}
	}
	switch {
	case best != "":
		return best, nil
	case len(found) > 0:
		return "", fmt.Errorf("stack: the data was made by PostgreSQL %s, which is not installed: install postgresql-%s, or begin with another directory", version, version)
	}
	initdb, err := exec.LookPath("initdb")
	if err == nil {
		initdb, err = filepath.EvalSymlinks(initdb)
	}
	return filepath.Dir(initdb), err
}
