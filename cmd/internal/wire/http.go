package wire

import (
	"context"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/console"
	"github.com/accession-ingest/accession/cmd/internal/httpapi"
	"github.com/accession-ingest/accession/cmd/internal/openid"
	"github.com/accession-ingest/accession/cmd/internal/record"
)

// HTTP returns what answers people and programs; it listens already.
func (in *Installation) HTTP(ctx context.Context) (*httpapi.Listener, error) {
	pool, err := in.Pool(ctx)
	if err != nil {
		return nil, err
	}
	proxies, err := config.Networks(in.cfg.HTTPProxies)
	if err != nil {
		return nil, err
	}
	s := &httpapi.Server{Open: in.Resources(), People: &people.People{Records: record.New(pool)}, Version: in.Version, Log: in.log.With("role", "http"),
		Proxies: proxies, Forwarded: in.cfg.HTTPProxyHeader == config.ProxyForwarded, Certificate: in.cfg.HTTPCertificate, Key: in.cfg.HTTPKey}
	if in.cfg.OpenIDIssuer != "" {
		s.OpenID = &people.OpenID{People: &people.People{Records: record.New(pool)}, Issuer: in.cfg.OpenIDIssuer, Provider: &openid.Provider{Issuer: in.cfg.OpenIDIssuer,
			Client: in.cfg.OpenIDClient, Secret: in.cfg.OpenIDSecret, ReturnTo: in.cfg.PublicURL + console.OpenIDDone, Scopes: strings.Fields(in.cfg.OpenIDScopes)}}
	}
	l, err := s.Listen(ctx, in.cfg.ListenHTTP)
	if err != nil {
		return nil, failed("listen for people and programs", err,
			"the settings listen_http, http_certificate and http_key say where and how; each process on a machine needs its own port")
	}
	s.Log.Info("people and programs are answered", "address", l.Address(), "tls", s.Certificate != "")
	return l, nil
}
