package httpapi

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// comesFrom returns the address that a request comes from: the last one that the proxies in
// front have written down and that is not of one of them, if a proxy has sent it; else the one
// that has sent it.
func (s *Server) comesFrom(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	from := at.Addr().Unmap()
	if !s.proxied(from) {
		return from.String()
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	if s.Forwarded {
		hops = forwardedFor(strings.Join(r.Header.Values("Forwarded"), ","))
	}
	for _, hop := range slices.Backward(hops) {
		next, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil || !s.proxied(from) {
			break
		}
		from = next.Unmap()
	}
	return from.String()
}

// proxied reports whether an address is one of a proxy in front.
func (s *Server) proxied(a netip.Addr) bool {
	return slices.ContainsFunc(s.Proxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// forwardedFor returns the addresses of the hops in a header Forwarded (RFC 7239, 4), without
// their ports; "" = one that has none, or hides it. Of a value that is not written as it says
// there is none: a client may have left a quotation open, so that what a proxy has put behind it
// would be a part of it.
func forwardedFor(value string) (hops []string) {
	hop, named := "", false
	for value = blank(value); value != ""; {
		if value[0] != ',' && value[0] != ';' {
			name, text, rest, ok := pair(value)
			if is := strings.EqualFold(name, "for"); !ok || is && named {
				return nil
			} else if is {
				hop, named = node(text), true
			}
			if value = blank(rest); value != "" && value[0] != ',' && value[0] != ';' {
				return nil
			}
		}
		if value == "" || value[0] == ',' {
			hops, hop, named = append(hops, hop), "", false
		}
		if value != "" {
			value = blank(value[1:])
		}
	}
	return hops
}

// blank returns a text without the blanks at its beginning.
func blank(s string) string { return strings.TrimLeft(s, " \t") }

// token returns the token at the beginning of a text (RFC 9110, 5.6.2), "" = there is none.
func token(s string) string {
	end := strings.IndexFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
	if end < 0 {
		end = len(s)
	}
	return s[:end]
}

// pair returns the pair at the beginning of a text, without quotation marks, and what is behind it.
func pair(s string) (name, text, rest string, ok bool) {
	name = token(s)
	s, ok = strings.CutPrefix(s[len(name):], "=")
	if !ok || name == "" {
		return name, "", s, false
	}
	quoted, is := strings.CutPrefix(s, `"`)
	if !is {
		text = token(s)
		return name, text, s[len(text):], text != ""
	}
	var b strings.Builder
	for i := 0; i < len(quoted); i++ {
		switch c := quoted[i]; {
		case c == '"':
			return name, b.String(), quoted[i+1:], true
		case c == '\\' && i+1 < len(quoted):
			i++
		}
		b.WriteByte(quoted[i])
	}
	return name, "", "", false
}

// node returns the address of a node, "" = it says none.
func node(s string) string {
	if a, err := netip.ParseAddrPort(s); err == nil {
		return a.Addr().String()
	}
	if in, ok := strings.CutPrefix(s, "["); ok {
		in, _, _ = strings.Cut(in, "]")
		return in
	}
	host, _, _ := strings.Cut(s, ":") // its port may be hidden
	return host
}
