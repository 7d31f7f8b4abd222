// Definitions of labels, and all names of labels; a version records which annotations it shows.
ALTER TABLE Label ADD definition STRING;
ALTER TABLE Label ADD deprecated BOOLEAN DEFAULT false;
ALTER TABLE Version ADD annotations STRING DEFAULT '';
CREATE NODE TABLE Name(
    uid STRING PRIMARY KEY, version STRING, text STRING, folded STRING, language STRING, kind STRING
);
CREATE REL TABLE NAMES(FROM Name TO Label);
