package capture

import (
	"slices"
	"strings"

	"cdc/capture/catalog"
	"cdc/capture/state"
)

func validPattern(p string) bool {
	s, t, ok := strings.Cut(p, ".")
	return ok && s != "" && t != ""
}

// rule returns the first rule that matches a table, nil if none does: the table
// isn't captured.
func (c *Config) rule(schemaName, table string) *TableRule {
	if schemaName == c.StateSchema && c.StateSchema != "" {
		return nil // our own writes would never end
	}
	for i := range c.Tables {
		if matches(c.Tables[i].Match, schemaName+"."+table) {
			return &c.Tables[i]
		}
	}
	return nil
}

// matches reports whether name is what pattern says; * stands for any characters.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, rest, ok := strings.Cut(name, part)
		if !ok {
			return false
		}
		name = rest
	}
	return true
}

// captured returns those of tables that a rule matches.
func (c *Config) captured(tables []*catalog.Table) []*catalog.Table {
	return slices.DeleteFunc(slices.Clone(tables), func(t *catalog.Table) bool { return c.rule(t.Schema, t.Name) == nil })
}

// stored is what is stored of a table as it is now.
func stored(t *catalog.Table, version int64) state.Table {
	return state.Table{
		OID: t.OID, Schema: t.Schema, Name: t.Name, Filenode: t.Filenode,
		Fingerprint: t.Fingerprint, AttNums: t.AttNums(), SchemaVersion: version,
	}
}

// compare says what differs between the tables as they were when their changes
// were last handed on and as they are. rewritten are those whose storage alone
// is new (VACUUM FULL, CLUSTER, a table rebuilt by an extension): their rows
// mean what they meant.
func (c *Config) compare(was []state.Table, is []*catalog.Table) (findings []Finding, rewritten []state.Table) {
	live := make(map[uint32]*catalog.Table, len(is))
	for _, t := range c.captured(is) {
		live[t.OID] = t
	}
	for _, old := range was {
		t := live[old.OID]
		delete(live, old.OID)
		switch {
		case t == nil:
			findings = append(findings, findTableGone(old))
		case t.Schema != old.Schema || t.Name != old.Name || t.Fingerprint != old.Fingerprint:
			findings = append(findings, findTableChanged(old))
		case t.Filenode != old.Filenode:
			old.Filenode = t.Filenode
			rewritten = append(rewritten, old)
		}
	}
	for _, t := range is { // in the order of their names
		if live[t.OID] != nil {
			findings = append(findings, findTableAdded(t))
		}
	}
	return findings, rewritten
}
