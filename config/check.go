package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// check returns the faults that no single setting has.
func (c *Config) check() (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if c.API.Open && !c.Loopback() {
		fault("api.open: an API without login listens on loopback addresses only, and api.host is %s", c.API.Host)
	}
	if c.Metrics.Address != "" {
		if _, _, err := net.SplitHostPort(c.Metrics.Address); err != nil {
			fault("metrics.address: write it as host:port, as 127.0.0.1:9464")
		}
	}
	if (c.Temporal.TLSCert == "") != (c.Temporal.TLSKey == "") {
		fault("temporal.tls_cert and temporal.tls_key: give both or none")
	}
	faults = append(faults, c.GitHub.faults()...)
	faults = append(faults, c.Diagnostic.faults()...)
	faults = append(faults, urlFault("database.url", c.Database.URL.Reveal(), "postgres", "postgresql"))
	faults = append(faults, urlFault("redis.url", c.Redis.URL.Reveal(), "redis", "rediss", "unix"))
	for key, raw := range map[string]string{
		"api.url": c.API.URL, "api.callback_url": c.API.CallbackURL, "temporal.ui_url": c.Temporal.UIURL,
		"dev.postgres_url": c.Dev.PostgresURL, "anthropic.base_url": c.Anthropic.BaseURL, "daytona.api_url": c.Daytona.APIURL,
		"trace.endpoint": c.Trace.Endpoint,
	} {
		faults = append(faults, urlFault(key, raw, "http", "https"))
	}
	faults = append(faults, c.Price.faults()...)
	faults = append(faults, c.Agent.priceFaults()...)
	faults = append(faults, c.Phases.faults()...)
	return nonEmpty(faults)
}

// Loopback reports whether the API listens where only this machine can reach it.
func (c *Config) Loopback() bool {
	ip := net.ParseIP(strings.Trim(c.API.Host, "[]"))
	return c.API.Host == "localhost" || (ip != nil && ip.IsLoopback())
}

// urlFault never prints the value: it may hold a password.
func urlFault(key, raw string, schemes ...string) string {
	if raw == "" {
		return ""
	}
	u, err := url.Parse(raw)
	if err != nil {
		return key + ": this is not a URL"
	}
	if slices.Contains(schemes, u.Scheme) {
		return ""
	}
	return fmt.Sprintf("%s: a URL that begins with %s:// is needed", key, strings.Join(schemes, ":// or "))
}

func nonEmpty(texts []string) []string {
	var out []string
	for _, text := range texts {
		if text != "" {
			out = append(out, text)
		}
	}
	return out
}
