package postgres

// cycleFrom walks edges from start depth first and answers the first way back to it, start
// at both ends; nil if there is none.
func cycleFrom(start string, edges map[string][]string) []string {
	visited := map[string]bool{}
	var walk func(id string) []string
	walk = func(id string) []string {
		for _, next := range edges[id] {
			if next == start {
				return []string{id, start}
			}
			if visited[next] {
				continue
			}
			visited[next] = true
			if rest := walk(next); rest != nil {
				return append([]string{id}, rest...)
			}
		}
		return nil
	}
	return walk(start)
}
