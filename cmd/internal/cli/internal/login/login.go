// Package login has the commands that keep and forget the key of a service.
package login

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/cmd/internal/remote"
	"github.com/accession-ingest/accession/domain/text"
)

// Env is what the commands have of the program.
type Env struct {
	In       io.Reader
	Err      io.Writer
	Terminal bool // In and Err are terminals: the program may ask
	// At returns the work of a command about what is kept for a service.
	At func(do func(ctx context.Context, url string, kept remote.Kept) error) func(c *cobra.Command, args []string) error
	// Show writes an answer as JSON, or with write.
	Show func(v any, write func(w io.Writer)) error
}

// Commands returns the commands login and logout.
func Commands(e Env) []*cobra.Command { return []*cobra.Command{e.login(), e.logout()} }

// Signed is the answer of login and logout.
type Signed struct {
	Server string `json:"server"`
	User   string `json:"user,omitempty"`
}

func (e Env) login() *cobra.Command {
	var user string
	c := &cobra.Command{
		Use:   "login",
		Short: "Keep a key of a service, or begin a session, for its commands over HTTP",
		Long: `Ask for an API key of the service that --server or the setting server names, try it, and
keep it for the commands of this user. With --user, ask for the password of that user,
begin a session, and keep that: it ends by itself, or with accession logout. Either is
read from the terminal without being shown, else from the first line of the standard
input; never from the command line, which others can see. It is kept in
accession/credentials.json below XDG_CONFIG_HOME or ~/.config, which only you may read.
The variables ACCESSION_API_KEY and ACCESSION_TOKEN win over it.`,
		Example: "  accession login --server https://ingest.example.org\n  accession login --server https://ingest.example.org --user ana\n  accession login --server https://ingest.example.org --user ana -o json",
		Args:    cobra.NoArgs,
		RunE: e.At(func(ctx context.Context, url string, kept remote.Kept) error {
			key, err := e.credential(ctx, url, user)
			if err != nil {
				return err
			}
			there, err := remote.Open(url, remote.Credential{Token: key})
			if err != nil {
				return err
			}
			self, err := remote.Ask[people.Self](ctx, there, "self.show", &operation.None{})
			if err != nil {
				return err
			}
			if err := kept.Keep(url, key); err != nil {
				return err
			}
			return e.Show(Signed{url, self.Name}, func(w io.Writer) { fmt.Fprintf(w, "you are %s at %s\n", self.Name, url) })
		}),
	}
	c.Flags().StringVar(&user, "user", "", "begin a session of this `NAME`, with its password")
	return c
}

// credential asks for an API key, or for the password of a user, with which it begins a
// session, and returns what is to be kept.
func (e Env) credential(ctx context.Context, url, user string) (string, error) {
	if user == "" {
		key, err := e.secret("API key: ")
		if key = strings.TrimSpace(key); key == "" && err == nil {
			err = empty("read the key", "an administrator makes one: `accession key add`")
		}
		return key, err
	}
	password, err := e.secret("Password of " + text.Line(user) + ": ")
	if err == nil && password == "" {
		err = empty("read the password", "an administrator sets one: `accession user password`")
	}
	if err != nil {
		return "", err
	}
	there, err := remote.Open(url, remote.Credential{Name: user, Password: password})
	if err != nil {
		return "", err
	}
	session, err := remote.Ask[people.Session](ctx, there, "session.begin", &operation.None{})
	return session.Token, err
}

func empty(what, hint string) error {
	return &app.Error{Kind: app.Invalid, What: what, Err: errors.New("it is empty"), Hint: hint}
}

func (e Env) logout() *cobra.Command {
	return &cobra.Command{
		Use:     "logout",
		Short:   "Forget the key of a service",
		Long:    "Forget what accession login has kept. A session ends, if the service answers, else by\nitself. A key stays valid until `accession key revoke` ends it.",
		Example: "  accession logout --server https://ingest.example.org",
		Args:    cobra.NoArgs,
		RunE: e.At(func(ctx context.Context, url string, kept remote.Kept) error {
			token, err := kept.Token(url)
			if err != nil {
				return err
			}
			if err := kept.Keep(url, ""); err != nil {
				return err
			}
			if there, err := remote.Open(url, remote.Credential{Token: token}); err == nil && token != "" {
				_, _ = remote.Ask[operation.Ended](ctx, there, "session.end", &operation.Token{}) // it ends by itself
			}
			return e.Show(Signed{Server: url}, func(w io.Writer) { fmt.Fprintf(w, "the key of %s is forgotten\n", url) })
		}),
	}
}

// secret reads a secret: from a terminal, where it is not shown, or the first line of In.
func (e Env) secret(prompt string) (string, error) {
	if in, ok := e.In.(*os.File); ok && e.Terminal {
		fmt.Fprint(e.Err, prompt)
		read, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(e.Err)
		return string(read), err
	}
	line, err := bufio.NewReader(io.LimitReader(e.In, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}
