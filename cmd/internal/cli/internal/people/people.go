// Package people has the commands about users, keys and the audit.
package people

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain/access"
)

// Env is what the commands have of the program.
type Env struct {
	In       io.Reader
	Err      io.Writer
	Terminal bool // In and Err are terminals: the program may ask
	// Over returns the work of a command that calls the use cases wherever they are.
	Over func(do func(ctx context.Context, d door.Door, args []string) error) func(c *cobra.Command, args []string) error
	// Show writes an answer as JSON, or with write.
	Show func(v any, write func(w io.Writer)) error
	// Write writes a report to a file, or with "" to the standard output.
	Write func(file string, write func(w io.Writer) error) error
	// Group makes a command one of further commands.
	Group func(c *cobra.Command, commands ...*cobra.Command) *cobra.Command
}

// Commands returns the commands user, key and audit.
func Commands(e Env) []*cobra.Command { return []*cobra.Command{e.user(), e.key(), e.audit()} }

// changes returns the work of a command that changes a user, as in says, and says so in a
// sentence.
func (e Env) changes(name string, in func(args []string) (any, error), sentence func(args []string) string) func(c *cobra.Command, args []string) error {
	return e.Over(func(ctx context.Context, d door.Door, args []string) error {
		input, err := in(args)
		if err != nil {
			return err
		}
		u, err := door.Carry[operation.ChangedUser](ctx, d, name, input)
		if err != nil {
			return err
		}
		return e.Show(u, func(w io.Writer) {
			if u.DryRun {
				tried(w, u.Effects)
				return
			}
			if !u.Changed {
				fmt.Fprintln(w, "nothing changed")
				return
			}
			fmt.Fprintln(w, sentence(args))
		})
	})
}

// tried says what would follow from a command that was only tried.
func tried(w io.Writer, effects []string) {
	fmt.Fprintln(w, "it would be done, and nothing is changed yet")
	for _, line := range effects {
		fmt.Fprintln(w, "  "+export.Line(line))
	}
}

// pages returns the work of a command that shows a page of a list.
func pages[T any](e Env, name string, in func() any, write func(w io.Writer, all []T)) func(c *cobra.Command, args []string) error {
	return e.Over(func(ctx context.Context, d door.Door, _ []string) error {
		page, err := door.Carry[app.Page[T]](ctx, d, name, in())
		if err != nil {
			return err
		}
		return e.Show(page, func(w io.Writer) { write(w, page.Items); more(w, page.Next) })
	})
}

func (e Env) user() *cobra.Command {
	return e.Group(&cobra.Command{
		Use:   "user",
		Short: "List and change the users of the HTTP interface",
		Long: `Users are people and programs that deposit, look or act over HTTP. What each may do is
said by rights: a role in some collections, or in all. The command line on a machine that
has the settings needs no user: who has those may do everything, and the audit has the
name of the operating system's user.`,
		Example: "  accession user add ana --display-name \"Ana Li\"\n  accession user grant ana depositor --collection maps\n  accession user password ana",
	}, e.userAdd(), e.userSet(), e.userShow(), e.userLs(), e.userPassword(), e.userAble(false), e.userAble(true), e.userGrant(false), e.userGrant(true))
}

// said are the flags of what is said of a user.
func said(c *cobra.Command) (f func() people.Profile) {
	display := c.Flags().String("display-name", "", "how people call the user: `TEXT`")
	mail := c.Flags().String("mail", "", "mail `ADDRESS` of the user")
	return func() (p people.Profile) {
		if c.Flags().Changed("display-name") {
			p.DisplayName = display
		}
		if c.Flags().Changed("mail") {
			p.Mail = mail
		}
		return p
	}
}

func reason(c *cobra.Command) *string {
	return c.Flags().String("reason", "", "audit this `TEXT` as the reason")
}

// trial adds the flag of what is only tried.
func trial(c *cobra.Command) *bool {
	return c.Flags().Bool("dry-run", false, "show what would change, and change nothing")
}

func (e Env) userAdd() *cobra.Command {
	c := &cobra.Command{
		Use:     "add NAME",
		Short:   "Add a user",
		Long:    "Add a user, who may do nothing yet: see accession user grant, user password and key add.\nThe name is the submitter of the user's deposits.",
		Example: "  accession user add ana --display-name \"Ana Li\" --mail ana@example.org",
		Args:    flags.Exactly(1),
	}
	f, why, dry := said(c), reason(c), trial(c)
	c.RunE = e.changes("user.add", func(args []string) (any, error) {
		in, said := &operation.NewUser{Trial: operation.Trial{DryRun: *dry}}, f()
		in.Body.Name, in.Body.DisplayName, in.Body.Mail, in.Body.Reason = args[0], render.Deref(said.DisplayName), render.Deref(said.Mail), *why
		return in, nil
	}, func(args []string) string { return "added the user " + args[0] })
	return c
}

func (e Env) userSet() *cobra.Command {
	var who people.Identity
	c := &cobra.Command{
		Use:   "set NAME",
		Short: "Change the display name or mail address of a user, or who signs in as it",
		Long: `Change the display name or mail address of a user, or who signs in as it at the OpenID
Connect provider. What is not given stays as it is. With --openid-issuer and
--openid-subject the person of that subject signs in as the user, whose sessions
end; with both empty no person does.`,
		Example: "  accession user set ana --mail ana@example.org\n  accession user set ana --openid-issuer https://login.example.org --openid-subject 248289761001",
		Args:    flags.Exactly(1),
	}
	f, why, dry := said(c), reason(c), trial(c)
	c.Flags().StringVar(&who.Issuer, "openid-issuer", "", "the setting openid_issuer, as it is: `URL`")
	c.Flags().StringVar(&who.Subject, "openid-subject", "", "who signs in there as the user: the `SUBJECT` that the page of a refused sign-in and the audit show")
	c.RunE = e.changes("user.set", func(args []string) (any, error) {
		in, said := &operation.UserSet{UserName: operation.UserName{Name: args[0]}}, f()
		in.DryRun = *dry
		in.Body.DisplayName, in.Body.Mail, in.Body.Reason = said.DisplayName, said.Mail, *why
		if c.Flags().Changed("openid-issuer") || c.Flags().Changed("openid-subject") {
			in.Body.OpenID = &who
		}
		return in, nil
	}, func(args []string) string { return "changed the user " + args[0] })
	return c
}

func (e Env) userShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a user and its rights", Long: "Show a user and its rights.", Example: "  accession user show ana -o json", Args: flags.Exactly(1),
		RunE: e.Over(func(ctx context.Context, d door.Door, args []string) error {
			u, err := door.Carry[people.User](ctx, d, "user.show", &operation.UserName{Name: args[0]})
			if err != nil {
				return err
			}
			return e.Show(u, func(w io.Writer) { users(w, []people.User{u}) })
		}),
	}
}

func (e Env) userLs() *cobra.Command {
	var limit int
	var from app.Cursor
	c := &cobra.Command{
		Use: "ls", Short: "List users", Long: "List users by name, with their rights.", Example: "  accession user ls", Args: cobra.NoArgs,
		RunE: pages(e, "user.ls", func() any { return &operation.Page{Limit: limit, Cursor: string(from)} }, users),
	}
	flags.Cursor(c, &from)
	flags.Limit(c, &limit, flags.ListLimit, "users")
	return c
}

func users(w io.Writer, all []people.User) {
	render.Rows(w, "no users", render.Row{"user", "name", "mail", "rights", "password", "openid", "disabled"}, all, func(u people.User) render.Row {
		var rights []string
		for _, r := range u.Rights {
			scope := access.Scope{All: r.All, Collections: r.Collections}
			rights = append(rights, access.Right{Role: r.Role, Scope: scope}.String())
		}
		password := "no"
		if u.HasPassword {
			password = "yes"
		}
		return render.Row{u.ID, export.Line(u.DisplayName), export.Line(u.Mail), strings.Join(rights, "; "), password, export.Line(render.Deref(u.OpenID).Subject), render.Time(render.Deref(u.DisabledAt))}
	})
}

func more(w io.Writer, next app.Cursor) {
	if next != "" {
		fmt.Fprintf(w, "\n--limit or --cursor %s for more\n", next)
	}
}

func (e Env) userPassword() *cobra.Command {
	var stdin bool
	c := &cobra.Command{
		Use:   "password NAME",
		Short: "Set the password of a user",
		Long: `Set the password of a user, whose sessions end. It is asked for at the terminal, and not
shown; with --stdin it is the first line of the standard input.`,
		Example: "  accession user password ana\n  accession user password ana --stdin --reason \"forgotten\"",
		Args:    flags.Exactly(1),
	}
	why, dry := reason(c), trial(c)
	c.Flags().BoolVar(&stdin, "stdin", false, "read the password from the standard input")
	c.RunE = e.changes("user.password", func(args []string) (any, error) {
		password, err := e.password(stdin)
		in := &operation.UserPassword{UserName: operation.UserName{Name: args[0]}}
		in.DryRun, in.Body.Password, in.Body.Reason = *dry, password, *why
		return in, err
	}, func(args []string) string { return "the password of " + args[0] + " is set" })
	return c
}

// password reads a password, twice from a terminal.
func (e Env) password(stdin bool) (string, error) {
	if stdin {
		line, err := bufio.NewReader(io.LimitReader(e.In, 4096)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	in, ok := e.In.(*os.File)
	if !ok || !e.Terminal {
		return "", &app.Error{Kind: app.Invalid, What: "read the password", Err: errors.New("there is no terminal to ask at"), Hint: "give it on the standard input, with --stdin"}
	}
	var read [2]string
	for i, prompt := range []string{"Password: ", "Once more: "} {
		fmt.Fprint(e.Err, prompt)
		text, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(e.Err)
		if err != nil {
			return "", err
		}
		read[i] = string(text)
	}
	if read[0] != read[1] {
		return "", &app.Error{Kind: app.Invalid, What: "read the password", Err: errors.New("the two are not the same"), Hint: "try again"}
	}
	return read[0], nil
}

func (e Env) userAble(enable bool) *cobra.Command {
	c := &cobra.Command{
		Use: "disable NAME", Short: "Let a user do nothing more",
		Long:    "Let a user do nothing more: password and keys are refused, sessions end. What was\ndeposited goes on. accession user enable undoes it.",
		Example: "  accession user disable ana --reason \"has left\"", Args: flags.Exactly(1),
	}
	verb, sentence := "disable", "%s may do nothing any more"
	if enable {
		verb, sentence = "enable", "%s may sign in again"
		c.Use, c.Short = "enable NAME", "Let a disabled user in again"
		c.Long, c.Example = "Let a disabled user in again, with the rights, password and keys of before.", "  accession user enable ana"
	}
	why, dry := reason(c), trial(c)
	c.RunE = e.changes("user."+verb, func(args []string) (any, error) {
		return &operation.UserReason{IfMatch: operation.IfMatch{Trial: operation.Trial{DryRun: *dry}}, UserName: operation.UserName{Name: args[0]}, Body: &operation.Reason{Reason: *why}}, nil
	}, func(args []string) string { return fmt.Sprintf(sentence, args[0]) })
	return c
}

func (e Env) userGrant(withdraw bool) *cobra.Command {
	var all bool
	var collections []string
	c := &cobra.Command{
		Use:   "grant NAME ROLE",
		Short: "Give a user a role in collections",
		Long: `Give a user a role in some collections, or in all of them: reader sees, depositor
deposits and sees its own deposits, operator sees and acts, admin may do everything
everywhere.`,
		Example: "  accession user grant ana depositor --collection maps --collection texts\n  accession user grant ben operator --all",
		Args:    flags.Exactly(2),
	}
	verb, did := "grant", "%s is %s now"
	if withdraw {
		verb, did = "withdraw", "%s is no %s any more"
		c.Use, c.Short = "withdraw NAME ROLE", "Take a role in collections away from a user"
		c.Long, c.Example = "Take a role in some collections, or in all of them, away from a user. It counts from the\nuser's next request on.", "  accession user withdraw ana depositor --collection maps"
	}
	c.Flags().BoolVar(&all, "all", false, "in all collections, those of the future too")
	c.Flags().StringArrayVar(&collections, "collection", nil, "in this `COLLECTION`; may be given several times")
	why, dry := reason(c), trial(c)
	c.RunE = e.changes("user."+verb, func(args []string) (any, error) {
		in := &operation.UserRight{UserName: operation.UserName{Name: args[0]}}
		in.DryRun = *dry
		in.Body.Right, in.Body.Reason = people.Right{Role: access.Role(args[1]), All: all, Collections: collections}, *why
		return in, nil
	}, func(args []string) string {
		return fmt.Sprintf(did, args[0], access.Right{Role: access.Role(args[1]), Scope: access.Scope{All: all, Collections: collections}})
	})
	return c
}

func (e Env) key() *cobra.Command {
	return e.Group(&cobra.Command{
		Use:     "key",
		Short:   "List and change the API keys of users",
		Long:    "An API key lets a program act as a user, with all of its rights or a part of them. It is\nshown once, when it is made; only its digest is kept.",
		Example: "  accession key add ana --label scanner --role depositor --expires 90d\n  accession key revoke k3w5q2xa",
	}, e.keyAdd(), e.keyRevoke(), e.keyLs())
}

func (e Env) keyAdd() *cobra.Command {
	var label string
	var roles, collections []string
	var expires time.Duration
	c := &cobra.Command{
		Use: "add USER", Short: "Make an API key of a user",
		Long:    "Make an API key and show it, once. With --role or --collection it has a part of its\nuser's rights only.",
		Example: "  accession key add ana --label scanner\n  accession key add ana --role depositor --collection maps --expires 90d -o json", Args: flags.Exactly(1),
	}
	c.Flags().StringVar(&label, "label", "", "what the key is for: `TEXT`")
	c.Flags().StringArrayVar(&roles, "role", nil, "rights of this `ROLE` only; may be given several times")
	c.Flags().StringArrayVar(&collections, "collection", nil, "rights in this `COLLECTION` only; may be given several times")
	flags.Parsed(c, &expires, "expires", "", "refuse the key after this `TIME`: 12h, 90d; none = never", func(s string) (time.Duration, error) {
		now := time.Now()
		at, err := flags.ParseTimeAt(s, now)
		if err != nil || !at.Before(now) {
			return 0, errors.New("give a time such as 12h or 90d")
		}
		return now.Sub(at), nil
	})
	why, dry := reason(c), trial(c)
	c.RunE = e.Over(func(ctx context.Context, d door.Door, args []string) error {
		n := &operation.NewKey{Trial: operation.Trial{DryRun: *dry}}
		n.Body.User, n.Body.Label, n.Body.Collections, n.Body.Reason = args[0], label, collections, *why
		for _, r := range roles {
			n.Body.Roles = append(n.Body.Roles, access.Role(r))
		}
		if expires > 0 {
			n.Body.ExpiresAt = time.Now().Add(expires)
		}
		k, err := door.Carry[people.MadeKey](ctx, d, "key.add", n)
		if err != nil {
			return err
		}
		return e.Show(k, func(w io.Writer) {
			if k.DryRun {
				tried(w, k.Effects)
				return
			}
			fmt.Fprintln(w, k.Secret)
			fmt.Fprintln(e.Err, "this is the only time that the key is shown")
		})
	})
	return c
}

func (e Env) keyRevoke() *cobra.Command {
	c := &cobra.Command{
		Use: "revoke PREFIX", Short: "Revoke an API key", Long: "Revoke an API key: it is refused from now on. PREFIX is what accession key ls shows.",
		Example: "  accession key revoke k3w5q2xa --reason \"was in a log\"", Args: flags.Exactly(1),
	}
	why, dry := reason(c), trial(c)
	c.RunE = e.Over(func(ctx context.Context, d door.Door, args []string) error {
		done, err := door.Carry[operation.Revoked](ctx, d, "key.revoke", &operation.KeyPrefix{IfMatch: operation.IfMatch{Trial: operation.Trial{DryRun: *dry}}, Prefix: args[0], Body: &operation.Reason{Reason: *why}})
		if err != nil {
			return err
		}
		return e.Show(done, func(w io.Writer) {
			if done.DryRun {
				tried(w, done.Effects)
				return
			}
			fmt.Fprintf(w, "the key %s is revoked\n", done.ID)
		})
	})
	return c
}

func (e Env) keyLs() *cobra.Command {
	var user string
	var limit int
	var from app.Cursor
	c := &cobra.Command{
		Use: "ls", Short: "List API keys", Long: "List API keys by their prefixes, those that have expired or were revoked too.", Example: "  accession key ls --user ana", Args: cobra.NoArgs,
		RunE: pages(e, "key.ls", func() any {
			return &operation.KeyList{Page: operation.Page{Limit: limit, Cursor: string(from)}, User: user}
		}, func(w io.Writer, keys []people.Key) {
			render.Rows(w, "no keys", render.Row{"key", "user", "label", "roles", "collections", "made", "expires", "revoked", "last used"}, keys, func(k people.Key) render.Row {
				return render.Row{k.ID, k.User, export.Line(k.Label), cmp.Or(flags.Joined(k.Roles), "all"), cmp.Or(strings.Join(k.Collections, ", "), "all"),
					render.Time(k.CreatedAt), render.Time(render.Deref(k.ExpiresAt)), render.Time(render.Deref(k.RevokedAt)), k.UsedOn}
			})
		}),
	}
	c.Flags().StringVar(&user, "user", "", "only keys of this `USER`")
	flags.Cursor(c, &from)
	flags.Limit(c, &limit, flags.ListLimit, "keys")
	return c
}

func (e Env) audit() *cobra.Command {
	var in operation.AuditList
	var from app.Cursor
	ls := &cobra.Command{
		Use: "ls", Short: "List what was done and refused, newest first",
		Long:    "List every change of users, rights and keys, every command that was requested over HTTP,\nand every request that was refused to a known user.",
		Example: "  accession audit ls --since 7d --action user\n  accession audit ls --user ana -o json", Args: cobra.NoArgs,
		RunE: pages(e, "audit.ls", func() any {
			in.Cursor = string(from)
			return &in
		}, func(w io.Writer, entries []people.Entry) {
			render.Rows(w, "nothing was audited", render.Row{"at", "who", "by", "from", "action", "on", "outcome", "what", "why"}, entries, func(e people.Entry) render.Row {
				return render.Row{render.Time(e.At), export.Line(e.Caller), e.Via, export.Line(e.Address), e.Action, export.Line(e.Subject), e.Outcome, export.Line(e.Detail), export.Line(e.Reason)}
			})
		}),
	}
	audited(ls, &in.Audited)
	flags.Cursor(ls, &from)
	flags.Limit(ls, &in.Limit, flags.ListLimit, "entries")
	return e.Group(&cobra.Command{
		Use: "audit", Short: "List who did what", Long: "List who did what to users, rights and keys, and what was requested over HTTP.", Example: "  accession audit ls --since 7d\n  accession audit report --since 30d --out audit.csv",
	}, ls, e.auditReport())
}

// audited adds what entries of the audit are selected by.
func audited(c *cobra.Command, in *operation.Audited) {
	flags.Age(c, &in.Since, &in.OlderThan, "what was", "done")
	c.Flags().StringVar(&in.User, "user", "", "only what this `USER` did")
	c.Flags().StringVar(&in.Action, "action", "", "only this `ACTION`, such as user.grant, or user for all of a kind")
	c.Flags().StringVar(&in.On, "on", "", "only what was done to this `SUBJECT`, such as user/ana or job/jid0000000001")
}

func (e Env) auditReport() *cobra.Command {
	in := operation.AuditReport{Format: export.FormatCSV}
	var file string
	formats := []string{export.FormatText, export.FormatCSV, export.FormatJSON, export.FormatHTML}
	c := &cobra.Command{
		Use: "report", Short: "Write all that was done and refused as CSV, text, JSON or HTML",
		Long:    "Write every selected entry of the audit, newest first, as CSV or in another format. They\nare read while they are written.",
		Example: "  accession audit report --since 30d --out audit.csv\n  accession audit report --user ana --format html --out ana.html", Args: cobra.NoArgs,
	}
	c.RunE = e.Over(func(ctx context.Context, d door.Door, _ []string) error {
		if !c.Flags().Changed("format") && c.Flag("output").Value.String() == "json" {
			in.Format = export.FormatJSON
		}
		return e.Write(file, func(w io.Writer) error {
			if d.There != nil {
				return d.There.Fetch(ctx, "audit.report", &in, nil, w)
			}
			p, err := people.Of(ctx, d.Here)
			if err != nil {
				return err
			}
			report := p.Report(ctx, people.AuditFilter{Since: in.Since, Until: in.OlderThan, Caller: in.User, Action: in.Action, Subject: in.On})
			defer report.Close()
			return export.WriteReport(w, report, export.ReportOptions{Format: in.Format, Made: time.Now()})
		})
	})
	audited(c, &in.Audited)
	flags.Parsed(c, &in.Format, "format", export.FormatCSV, "`FORMAT`: "+flags.Joined(formats), flags.Among(formats...))
	c.Flags().StringVar(&file, "out", "", "write to this new `FILE`, which appears when it is complete")
	return c
}
