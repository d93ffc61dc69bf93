package repocheck

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestReplies: the first row for one of the points counts, and none is left over.
func TestReplies(t *testing.T) {
	t.Parallel()
	points, err := Points(repository(t))
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, p := range points {
		r, err := ReplyAt(p.Name)
		used[r.Points] = err == nil
		if (r.From == "") == (r.Why == "") {
			t.Errorf("%s: an answer, or the reason why there is none: %+v", p.Name, r)
		}
	}
	for _, r := range Replies {
		if !used[r.Points] {
			t.Errorf("repocheck/replies.go: no point is left for %s: remove the row", r.Points)
		}
	}
	if _, err := ReplyAt("world/tree/fall/before"); err == nil {
		t.Error("a point without a row is taken")
	}
}

func TestPoints(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`func f(n string) { crash.Point(n) }`:                       "is a constant",
		`func f() { crash.Point("a"); crash.Point("a") }`:           "a name of its own",
		`func f() { crash.Point("a"); crash.Point("b") }`:           "",
		`func f() { func() { crash.Point("a") }(); g("a") }`:        "",
		`func f(n string) { crash.Around(g(n), h) }`:                "is a constant",
		`func f() { n := "a"; crash.Around(n, h) }`:                 "is a constant",
		`func f() { crash.Around("a", h); crash.Around("a", h) }`:   "a name of its own",
		`func f() { crash.Around("a", h); crash.Point("a/after") }`: "a name of its own",
	} {
		_, err := Points(fstest.MapFS{"domain/a.go": {Data: []byte("package p\n" + body)}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}

func TestPointsOfWrappers(t *testing.T) {
	t.Parallel()
	root := fstest.MapFS{
		"a/store.go": {Data: []byte(`package a
func (s *Store) do(op string, h func() error) error { return crash.Around("a/"+op, h) }
func Twice[T any](ctx C, op string, h func() (T, error)) { s.do("twice/"+op, g) }
func (s *Store) Other(h func() error) { s.do("x", h); s.do(h) }
func f() { Twice[int](ctx, "c", h); crash.Around("y", h) }
`)},
		"a/more.go":      {Data: []byte(`package a; func f() { s.x.do("z", h) }`)},
		"a/more_test.go": {Data: []byte(`package a; func f() { s.do("test", h) }`)},
		"b/b.go":         {Data: []byte(`package b; import "` + Module + `/a"; func f() { a.Twice(ctx, "b", h); b.Twice(ctx, "no", h); s.do("no", h) }`)},
	}
	points, err := Points(root)
	var names []string
	for _, p := range points {
		names = append(names, strings.TrimSuffix(p.Name, "/after"))
	}
	const want = "a/twice/b/before a/twice/b a/twice/c/before a/twice/c a/x/before a/x a/z/before a/z y/before y"
	slices.Sort(names)
	if got := strings.Fields(want); err != nil || !slices.Equal(names, slices.Sorted(slices.Values(got))) {
		t.Errorf("%v, %v, want %v", names, err, want)
	}
}

func TestEffects(t *testing.T) {
	t.Parallel()
	const before, after = `crash.Point("x/before-a"); `, `; crash.Point("x/after-a")`
	for _, c := range []struct{ file, body, want string }{
		{"eventstore/zklive/internal/session/a.go", "s.conn.Multi(ops)", "right before and after it"},
		{"eventstore/zklive/internal/session/a.go", before + "s.conn.Multi(ops)", "right after it"},
		{"eventstore/zklive/internal/session/a.go", "s.conn.Multi(ops)" + after, "right before it"},
		{"eventstore/zklive/internal/session/a.go", before + "s.conn.Multi(ops)" + after, ""},
		{"eventstore/zklive/internal/session/a.go", before + "read(func() error { return s.conn.Set(p) })" + after, ""},
		{"eventstore/zklive/internal/session/a.go", before + "s.conn.Get(p)", ""},
		{"eventstore/zklive/a_test.go", "s.conn.Multi(ops)", ""},
		{"eventstore/zklive/internal/session/a.go", before + `s.conn.Create(p); crash.Point("b"); s.conn.Delete(p)` + after, ""},
		{"eventstore/zklive/internal/session/a.go", `crash.Around("x", func() error { return read(func() error { return s.conn.Set(p) }) })`, ""},
		{"eventstore/zklive/internal/session/a.go", `crash.Around("x", s.conn.Multi)`, ""},
		{"eventstore/zklive/internal/session/a.go", `crash.Around("x", func() error { s.conn.Set(p); return s.conn.Set(q) })`, "another effect"},
		{"eventstore/zklive/internal/session/a.go", `crash.Around("x", h); s.conn.Set(p)`, "right before and after it"},
		{"eventstore/zklive/internal/session/a.go", before + `crash.Around("x", h); s.conn.Set(p)` + after, "right before it"},
		{"eventstore/zklive/internal/session/a.go", "run(s.conn.Multi)", "right before and after it"},
		{"eventstore/zklive/internal/session/a.go", `w("x", func() error { return s.conn.Set(p) }) }; func w(op string, h func() error) { crash.Around("x/"+op, h)`, ""},
		{"eventstore/zklive/internal/session/a.go", `w("x", func() error { return s.conn.Set(p) }) }; func w(op string, h func() error) { h()`, "right before and after it"},
		{"eventstore/jslog/a.go", "l.js.PublishMsg(m)", "l.js.PublishMsg in f"},
		{"projections/a.go", "tx.Commit(ctx)", "tx.Commit in f"},
		{"cmd/internal/record/a.go", "r.q.Keep(ctx)", "r.q.Keep in f"},
		{"cmd/internal/record/a.go", "r.q.Look(ctx); q.Keep(ctx)", ""},
		{"cmd/internal/store/a.go", "root.Rename(a, b)", "root.Rename in f"},
		{"cmd/internal/store/a.go", before + "f.Sync(); f.Close()" + after, ""},
		{"cmd/internal/notify/a.go", "via.Do(req)", "via.Do in f"},
		{"cmd/internal/stack/a.go", "os.Remove(a)", ""},
	} {
		t.Run(c.file+" "+c.body, func(t *testing.T) {
			t.Parallel()
			root := tree(c.file, "", "func f() { "+c.body+" }")
			root["queries/record/a.sql"] = &fstest.MapFile{Data: []byte("-- name: Keep :exec\ninsert into x\n-- name: Look :one\nselect 1\n")}
			one(t, CheckEffects, root, c.want)
		})
	}
	two := tree("eventstore/zklive/internal/session/a.go", "", "func f() { "+before+"s.conn.Create(p); s.conn.Delete(p)"+after+" }")
	if found, err := CheckEffects(two); err != nil || len(found) != 2 {
		t.Errorf("two effects without a point between them: %v, %v", found, err)
	}
	gone := tree("cmd/internal/store/put.go", "", "")
	gone["go.mod"] = &fstest.MapFile{}
	if found, err := CheckEffects(gone); err != nil || len(found) != len(Unmarked) || !strings.Contains(found[0].String(), "not there any more") {
		t.Errorf("rows for what is not there: %v, %v", found, err)
	}
}
