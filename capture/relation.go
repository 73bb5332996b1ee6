package capture

import (
	"fmt"

	"cdc/capture/catalog"
	"cdc/capture/pgoutput"
	"cdc/schema"
)

// relation is one RELATION message, resolved.
type relation struct {
	table   *schema.Table
	problem error // why its rows can't be handed on; nil if they can
}

// known is a captured table as it was when Run started.
type known struct {
	live  *catalog.Table
	table *schema.Table
}

// resolve returns the relation that m describes. A problem isn't an error before
// a row comes: with publish_via_partition_root the leaves are described too, and
// no row names them.
func (s *stream) resolve(m *pgoutput.Relation) *relation {
	k := s.tables[m.OID]
	if k == nil {
		f := findNotConfigured(relationName(m))
		if s.cfg.rule(m.Namespace, m.Name) != nil {
			f = findTableAdded(&catalog.Table{Schema: m.Namespace, Name: m.Name})
		}
		return &relation{problem: &Error{finding: f}}
	}
	if err := differs(m, k.live); err != nil {
		return &relation{problem: &Error{finding: findTableChanged(stored(k.live, 0)), cause: err}}
	}
	return &relation{table: k.table}
}

func relationName(m *pgoutput.Relation) string {
	if m.Namespace == "" {
		return "pg_catalog." + m.Name
	}
	return m.Namespace + "." + m.Name
}

// differs says in what a RELATION message, which describes the table as it was
// at the changes behind it, isn't the table that we know.
func differs(m *pgoutput.Relation, t *catalog.Table) error {
	switch {
	case m.Namespace != t.Schema || m.Name != t.Name:
		return fmt.Errorf("it is named %s on the stream", relationName(m))
	case string(rune(m.ReplicaIdentity)) != t.ReplicaIdentity:
		return fmt.Errorf("its replica identity is %q on the stream", rune(m.ReplicaIdentity))
	case len(m.Columns) != len(t.Columns):
		return fmt.Errorf("it has %d columns on the stream and had %d", len(m.Columns), len(t.Columns))
	}
	isKey := make([]bool, len(t.Columns))
	for _, k := range t.Key {
		isKey[k] = true
	}
	for i, c := range m.Columns {
		is := t.Columns[i]
		if c.Name != is.Name || c.TypeOID != is.TypeOID || c.TypeMod != is.TypeMod {
			return fmt.Errorf("column %d is %q of type %d on the stream and was %q of type %d", i+1, c.Name, c.TypeOID, is.Name, is.TypeOID)
		}
		if t.ReplicaIdentity != catalog.IdentityFull && c.Key != isKey[i] {
			return fmt.Errorf("column %q is in only one of key and replica identity", c.Name)
		}
	}
	return nil
}
