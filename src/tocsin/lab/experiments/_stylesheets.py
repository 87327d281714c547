"""The rival the paper names: the same mediation as XSLT, between its two specifications."""

from collections.abc import Mapping

from tocsin.mediation.soap.namespaces import SOAP_12, WSA_2004, WSA_2005, WSE, WSN, WSN_CONSUMER

_HEAD = (
    '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" '
    f'xmlns:s="{SOAP_12}" xmlns:a5="{WSA_2005}" xmlns:a4="{WSA_2004}" xmlns:wsnt="{WSN}" xmlns:wse="{WSE}" '
    'exclude-result-prefixes="a4 a5 wse"><xsl:output method="xml" omit-xml-declaration="yes"/>'
    '<xsl:template match="/s:Envelope">'
)
_TAIL = "</xsl:template></xsl:stylesheet>"
_MESSAGE = "s:Body/wsnt:Notify/wsnt:NotificationMessage"

_TO_EVENT = f"""<s:Envelope><s:Header>
<a4:Action><xsl:value-of select="namespace-uri({_MESSAGE}/wsnt:Message/*)"/>/<xsl:value-of
 select="local-name({_MESSAGE}/wsnt:Message/*)"/></a4:Action>
<a4:MessageID><xsl:value-of select="s:Header/a5:MessageID"/></a4:MessageID>
<a4:From><a4:Address><xsl:value-of select="{_MESSAGE}/wsnt:ProducerReference/a5:Address"/></a4:Address></a4:From>
<xsl:copy-of select="{_MESSAGE}/wsnt:Topic"/>
<a4:To>http://consumer.example.org/in</a4:To></s:Header>
<s:Body><xsl:copy-of select="{_MESSAGE}/wsnt:Message/*"/></s:Body></s:Envelope>"""

_TO_NOTIFY = f"""<s:Envelope><s:Header><a5:Action>{WSN_CONSUMER}/Notify</a5:Action>
<a5:MessageID><xsl:value-of select="s:Header/a4:MessageID"/></a5:MessageID>
<a5:To>http://consumer.example.org/in</a5:To></s:Header>
<s:Body><wsnt:Notify><wsnt:NotificationMessage><wsnt:SubscriptionReference>
<a5:Address>http://broker.example.org:8080/broker/subscriptions/s0</a5:Address></wsnt:SubscriptionReference>
<xsl:copy-of select="s:Header/wsnt:Topic"/>
<wsnt:ProducerReference><a5:Address><xsl:value-of select="s:Header/a4:From/a4:Address"/></a5:Address>
</wsnt:ProducerReference>
<wsnt:Message><xsl:copy-of select="s:Body/*"/></wsnt:Message></wsnt:NotificationMessage></wsnt:Notify></s:Body>
</s:Envelope>"""

STYLESHEETS: Mapping[tuple[str, str], str] = {
    ("wsn-1.3", "wse-2004-08"): _HEAD + _TO_EVENT + _TAIL,
    ("wse-2004-08", "wsn-1.3"): _HEAD + _TO_NOTIFY + _TAIL,
}
