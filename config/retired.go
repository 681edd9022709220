package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// retired are the variables and YAML keys of settings that are gone. Environments and files that
// still have them are taken as they are, with a warning.
//
//nolint:gochecknoglobals // a table
var retired = map[string]bool{
	"MONITORING_HEALTH_CHECK_INTERVAL_SECONDS": true, "OMOI_MONITORING_HEALTH_CHECK_INTERVAL": true,
	"monitoring.health_check_interval": true, "monitoring.health_check_interval_seconds": true,
}

// unused says of every retired name where it was found.
func unused(layers []layer) []string {
	var out []string
	for _, l := range layers {
		for _, found := range []map[string]string{l.vars, l.keys} {
			for _, name := range slices.Sorted(maps.Keys(found)) {
				if retired[name] && found[name] != "" {
					out = append(out, fmt.Sprintf("%s (%s) has no effect; leave it out", name, l.name))
				}
			}
		}
	}
	return out
}

// retiredNames is a list of them for the documentation.
func retiredNames() string {
	return "`" + strings.Join(slices.Sorted(maps.Keys(retired)), "`, `") + "`"
}
