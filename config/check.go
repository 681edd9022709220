package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// check returns the faults in combinations of settings.
func (c *Config) check() (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if c.API.AuthDisabled && !c.Loopback() {
		fault("api.auth_disabled: must be false unless api.host is a loopback address; it is %s", c.API.Host)
	}
	if c.Metrics.Address != "" {
		if _, _, err := net.SplitHostPort(c.Metrics.Address); err != nil {
			fault("metrics.address: must be host:port, for example 127.0.0.1:9464")
		}
	}
	if (c.Temporal.TLSCert == "") != (c.Temporal.TLSKey == "") {
		fault("temporal.tls_cert and temporal.tls_key: set both or neither")
	}
	faults = append(faults, c.GitHub.faults()...)
	faults = append(faults, c.Diagnostic.faults()...)
	faults = append(faults, c.Notice.faults()...)
	faults = append(faults, urlFault("database.url", c.Database.URL.Reveal(), "postgres", "postgresql"))
	faults = append(faults, urlFault("redis.url", c.Redis.URL.Reveal(), "redis", "rediss", "unix"))
	for key, raw := range map[string]string{
		"api.url": c.API.URL, "api.callback_url": c.API.CallbackURL, "temporal.ui_url": c.Temporal.UIURL, "notice.page_url": c.Notice.PageURL,
		"dev.postgres_url": c.Dev.PostgresURL, "anthropic.base_url": c.Anthropic.BaseURL, "daytona.api_url": c.Daytona.APIURL,
		"trace.endpoint": c.Trace.Endpoint, "openhands.url": c.OpenHands.URL,
	} {
		faults = append(faults, urlFault(key, raw, "http", "https"))
	}
	faults = append(faults, c.Price.faults()...)
	faults = append(faults, c.Agent.priceFaults()...)
	faults = append(faults, c.Phases.faults()...)
	return nonEmpty(faults)
}

// Loopback reports whether the API listens on loopback only.
func (c *Config) Loopback() bool {
	ip := net.ParseIP(strings.Trim(c.API.Host, "[]"))
	return c.API.Host == "localhost" || (ip != nil && ip.IsLoopback())
}

// urlFault returns the fault of a URL without its value, which may hold a password.
func urlFault(key, raw string, schemes ...string) string {
	if raw == "" {
		return ""
	}
	u, err := url.Parse(raw)
	if err != nil {
		return key + ": must be a URL"
	}
	if slices.Contains(schemes, u.Scheme) {
		return ""
	}
	return fmt.Sprintf("%s: must be a URL that starts with %s://", key, strings.Join(schemes, ":// or "))
}

// secretFault returns the fault of a webhook secret that is too short.
func secretFault(key string, secret Secret) string {
	const least = 16 // bytes
	if len(secret) < least {
		return key + ": must have 16 or more characters. Next: openssl rand -hex 32"
	}
	return ""
}

func nonEmpty(texts []string) []string {
	return slices.DeleteFunc(texts, func(text string) bool { return text == "" })
}
