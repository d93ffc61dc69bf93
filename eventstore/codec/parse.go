package codec

import (
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// parse reads into v, a pointer to a struct, what [marshal] writes of most events:
// known keys in the order of the fields, no spaces, no escapes, no lists but of texts. It reports
// false for anything else: v is then undefined, and encoding/json, which takes six
// times as long, must read the data. What both can read, they read alike.
func parse(data []byte, v any) bool {
	p := parser{rest: string(data), ok: true}
	p.value(reflect.ValueOf(v).Elem())
	return p.ok && p.rest == ""
}

// parser reads a text from its beginning, and fails at the first unexpected byte.
type parser struct {
	rest string
	ok   bool
}

var timeType = reflect.TypeFor[domain.Time]()

func (p *parser) value(v reflect.Value) {
	switch kind := v.Kind(); {
	case v.Type() == timeType:
		if !p.next("null") {
			*v.Addr().Interface().(*domain.Time) = p.time()
		}
	case kind == reflect.String:
		v.SetString(p.text())
	case kind == reflect.Int, kind == reflect.Int64:
		v.SetInt(p.number())
	case kind == reflect.Bool:
		v.SetBool(p.next("true"))
		p.ok = p.ok && (v.Bool() || p.next("false"))
	case kind == reflect.Struct:
		p.object(v)
	case kind == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		p.value(v.Elem())
	case kind == reflect.Slice && v.Type().Elem().Kind() == reflect.String:
		v.Set(p.texts(v.Type()))
	default:
		p.ok = false
	}
}

// texts reads a list of texts.
func (p *parser) texts(of reflect.Type) reflect.Value {
	list := reflect.MakeSlice(of, 0, 4)
	p.ok = p.ok && p.next("[")
	for p.ok && !p.next("]") {
		if list.Len() > 0 {
			p.ok = p.next(",")
		}
		list = reflect.Append(list, reflect.ValueOf(p.text()).Convert(of.Elem()))
	}
	return list
}

func (p *parser) object(v reflect.Value) {
	later := 0 // 1 after the first field
	for _, f := range fieldsOf(v.Type()) {
		switch {
		case !p.ok:
			return
		case p.next(f.key[later]):
			p.value(v.FieldByIndex(f.index))
			later = 1
		default:
			p.ok = f.optional
		}
	}
	p.ok = p.ok && later == 1 && p.next("}")
}

// next reads s, if it comes next.
func (p *parser) next(s string) (found bool) {
	p.rest, found = strings.CutPrefix(p.rest, s)
	return found
}

func (p *parser) text() string {
	if !p.next(`"`) {
		p.ok = false
	}
	s, rest, found := strings.Cut(p.rest, `"`)
	p.rest, p.ok = rest, p.ok && found && plain(s)
	return s
}

// time reads an instant as [domain.Time] writes it.
func (p *parser) time() domain.Time {
	s := p.text()
	parsed, err := time.Parse(time.RFC3339Nano, s)
	t := domain.At(parsed)
	p.ok = p.ok && err == nil && t.String() == s
	return t
}

// number reads an integer as [strconv] writes it.
func (p *parser) number() int64 {
	end := 0
	for end < len(p.rest) && (p.rest[end] == '-' || '0' <= p.rest[end] && p.rest[end] <= '9') {
		end++
	}
	digits := p.rest[:end]
	n, err := strconv.ParseInt(digits, 10, 64)
	p.rest, p.ok = p.rest[end:], p.ok && err == nil && strconv.FormatInt(n, 10) == digits
	return n
}

// field is a field of a struct as JSON: its key, as the first one and as a later one,
// and whether it may be left out.
type field struct {
	key      [2]string
	index    []int
	optional bool
}

var fields sync.Map // reflect.Type → []field

// fieldsOf lists the fields of a struct, those of embedded ones among them.
func fieldsOf(t reflect.Type) []field {
	if known, ok := fields.Load(t); ok {
		return known.([]field)
	}
	var list []field
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			list = append(list, field{[2]string{`{"` + name + `":`, `,"` + name + `":`}, f.Index, strings.Contains(options, "omit")})
		}
	}
	fields.Store(t, list)
	return list
}

// plain reports whether a text is printable ASCII that JSON does not escape.
func plain(s string) bool {
	for i := range len(s) {
		if !plainBytes[s[i]] {
			return false
		}
	}
	return true
}

// plainBytes has the answer of plainByte for each byte.
var plainBytes = func() (is [256]bool) {
	for c := range is {
		is[c] = plainByte(byte(c))
	}
	return is
}()

func plainByte(c byte) bool {
	return ' ' <= c && c <= '~' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
}
