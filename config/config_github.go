package config

// faults are what no single setting of GitHub has.
func (g *GitHub) faults() (faults []string) {
	key := g.AppKey != "" || g.AppKeyFile != ""
	switch {
	case g.AppID != 0 && !key:
		faults = append(faults, "github.app_id: give its private key too, as github.app_key_file")
	case g.AppID == 0 && key:
		faults = append(faults, "github.app_key: give the id of its App too, as github.app_id")
	}
	return faults
}
