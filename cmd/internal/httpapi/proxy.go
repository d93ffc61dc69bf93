package httpapi

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// comesFrom returns the address that a request comes from: the last one in X-Forwarded-For
// that is not of a proxy in front, if a proxy has sent it; else the one that has sent it.
func (s *Server) comesFrom(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	from := at.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
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
